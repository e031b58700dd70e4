"""Operations that wait for offsets to move, or for their time to run out.

A partition has several places to wait: its log's end (followers), its high watermark and its last stable offset (consumers).
Plain data with deadlines: progress is told to it, nothing is polled and nothing here runs on its own. An operation is
handed back exactly once, by whichever comes first.
"""

import heapq
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

T = TypeVar("T")

ANY_OFFSET: Final = -1
"""Wait for whatever happens at a place."""

# Finished operations stay in the deadline heap until it is mostly made of them.
_SWEEP_AT: Final = 64


class Place:
    """Somewhere to wait; it has no name, because looking it up by its address costs least."""

    __slots__ = ()


class Waiting(Generic[T]):
    """One operation, the places it watches, each from an offset on, and how much progress it still needs."""

    __slots__ = ("deadline_ms", "done", "missing", "operation", "places")

    def __init__(self, operation: T, places: Mapping[Place, int], missing: int, deadline_ms: int) -> None:
        self.operation = operation
        self.places = places
        self.missing = missing
        self.deadline_ms = deadline_ms
        self.done = False


class Purgatory(Generic[T]):
    """Invariant (`check`): every operation that is not done is watched at each of its places and is in the deadline heap."""

    __slots__ = ("_added", "_finished", "_heap", "_watchers")

    def __init__(self) -> None:
        self._watchers: dict[Place, dict[Waiting[T], int]] = {}
        """At each place who waits there, and from which offset on."""
        self._heap: list[tuple[int, int, Waiting[T]]] = []
        """By deadline; then in the order in which they came."""
        self._added = 0
        self._finished = 0

    def __len__(self) -> int:
        return len(self._heap) - self._finished

    def add(self, operation: T, places: Mapping[Place, int], *, missing: int, deadline_ms: int) -> Waiting[T]:
        """Wait until `missing` bytes have come at the places, each behind its offset, one of them changed, or the deadline is there."""
        waiting = Waiting(operation, places, missing, deadline_ms)
        for place, offset in places.items():
            self._watchers.setdefault(place, {})[waiting] = offset
        self._added += 1
        heapq.heappush(self._heap, (deadline_ms, self._added, waiting))
        return waiting

    def reached(self, place: Place, offset: int, size: int) -> list[T]:
        """What is waited for at `place` got to `offset`, by `size` bytes; return what has waited for just that."""
        if not self._watchers:
            return []
        watchers = self._watchers.get(place)
        if watchers is None:
            return []
        ready = []
        for waiting, beyond in watchers.items():
            if offset > beyond:
                waiting.missing -= size
                if waiting.missing <= 0:
                    ready.append(waiting)
        return [self._finish(waiting) for waiting in ready]

    def changed(self, place: Place) -> list[T]:
        """Return all that wait at `place`: something happened there that no offset expresses."""
        return [self._finish(waiting) for waiting in list(self._watchers.get(place, ()))]

    def expired(self, now_ms: int) -> list[T]:
        ready = []
        while self._heap and (self._heap[0][2].done or self._heap[0][0] <= now_ms):
            waiting = heapq.heappop(self._heap)[2]
            if waiting.done:
                self._finished -= 1
            else:
                # `_finish` counts on the operation being in the heap.
                self._finished -= 1
                ready.append(self._finish(waiting))
        return ready

    def cancel(self, waiting: Waiting[T]) -> None:
        if not waiting.done:
            self._finish(waiting)

    def drain(self) -> list[T]:
        """Return everything that waits: the broker stops."""
        return [self._finish(waiting) for _, _, waiting in list(self._heap) if not waiting.done]

    def deadline_ms(self) -> int | None:
        """When `expired` next has something to say."""
        while self._heap and self._heap[0][2].done:
            heapq.heappop(self._heap)
            self._finished -= 1
        return self._heap[0][0] if self._heap else None

    def check(self) -> None:
        live = [waiting for _, _, waiting in self._heap if not waiting.done]
        assert self._finished == len(self._heap) - len(live)
        watched = {(place, waiting) for place, watchers in self._watchers.items() for waiting in watchers}
        assert watched == {(place, waiting) for waiting in live for place in waiting.places}
        assert all(self._watchers.values())

    def _finish(self, waiting: Waiting[T]) -> T:
        waiting.done = True
        for place in waiting.places:
            watchers = self._watchers.get(place)
            if watchers is not None:
                watchers.pop(waiting, None)
                if not watchers:
                    del self._watchers[place]
        self._finished += 1
        if self._finished > _SWEEP_AT and self._finished * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].done]
            heapq.heapify(self._heap)
            self._finished = 0
        return waiting.operation
