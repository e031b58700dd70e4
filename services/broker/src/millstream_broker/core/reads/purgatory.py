"""Operations that wait for a partition to move or for their time to run out.

Plain data with deadlines: progress is told to it, nothing is polled and nothing here runs on its own. An operation is
handed back exactly once, by whichever comes first.
"""

import heapq
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# Finished operations stay in the deadline heap until it is mostly made of them.
_SWEEP_AT = 64


class Waiting(Generic[K, T]):
    """One operation, the places it watches, and how much progress it still needs."""

    __slots__ = ("deadline_ms", "done", "keys", "missing", "operation")

    def __init__(self, operation: T, keys: Sequence[K], missing: int, deadline_ms: int) -> None:
        self.operation = operation
        self.keys = keys
        self.missing = missing
        self.deadline_ms = deadline_ms
        self.done = False


class Purgatory(Generic[K, T]):
    """Every operation that is not done is watched under each of its keys and is in the deadline heap."""

    __slots__ = ("_added", "_finished", "_heap", "_watchers")

    def __init__(self) -> None:
        self._watchers: dict[K, dict[Waiting[K, T], None]] = {}
        self._heap: list[tuple[int, int, Waiting[K, T]]] = []
        """By deadline; then in the order in which they came."""
        self._added = 0
        self._finished = 0

    def __len__(self) -> int:
        return len(self._heap) - self._finished

    def add(self, operation: T, keys: Sequence[K], *, missing: int, deadline_ms: int) -> Waiting[K, T]:
        """Wait until the keys together progressed by `missing`, any of them changed, or the deadline is there."""
        waiting = Waiting(operation, keys, missing, deadline_ms)
        for key in keys:
            self._watchers.setdefault(key, {})[waiting] = None
        self._added += 1
        heapq.heappush(self._heap, (deadline_ms, self._added, waiting))
        return waiting

    def progressed(self, key: K, amount: int) -> list[T]:
        """Count progress at `key`; return what has waited for just that."""
        if not self._watchers:
            return []
        watchers = self._watchers.get(key)
        if watchers is None:
            return []
        ready = []
        for waiting in watchers:
            waiting.missing -= amount
            if waiting.missing <= 0:
                ready.append(waiting)
        return [self._finish(waiting) for waiting in ready]

    def changed(self, key: K) -> list[T]:
        """Return all that watch `key`: something happened there that no amount expresses."""
        return [self._finish(waiting) for waiting in list(self._watchers.get(key, ()))]

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

    def cancel(self, waiting: Waiting[K, T]) -> None:
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
        watched = {(key, waiting) for key, watchers in self._watchers.items() for waiting in watchers}
        assert watched == {(key, waiting) for waiting in live for key in waiting.keys}
        assert all(self._watchers.values())

    def _finish(self, waiting: Waiting[K, T]) -> T:
        waiting.done = True
        for key in waiting.keys:
            watchers = self._watchers.get(key)
            if watchers is not None:
                watchers.pop(waiting, None)
                if not watchers:
                    del self._watchers[key]
        self._finished += 1
        if self._finished > _SWEEP_AT and self._finished * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].done]
            heapq.heapify(self._heap)
            self._finished = 0
        return waiting.operation
