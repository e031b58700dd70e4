"""What is known of each offset of a share partition, kept as runs of offsets of which the same is known.

Only bookkeeping: which change is allowed is the share partition's to say.
"""

from bisect import bisect_right
from collections.abc import Iterator
from enum import IntEnum


class DeliveryState(IntEnum):
    """As share state numbers them; acquired records are never stored as that."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        return self >= DeliveryState.ACKNOWLEDGED


class Run:
    """Offsets `[start, end)`.

    `member` and `deadline_ms` are of acquired records. `outcome` is what an acknowledgement asked for, until it is stored;
    `unstored` says that the state changed without one; `is_written` that a write under way carries either of them.
    """

    __slots__ = ("deadline_ms", "deliveries", "end", "is_written", "member", "outcome", "start", "state", "unstored")

    def __init__(self, start: int, end: int, state: DeliveryState, deliveries: int = 0) -> None:
        self.start = start
        self.end = end
        self.state = state
        self.deliveries = deliveries
        self.member = ""
        self.deadline_ms = 0
        self.outcome: DeliveryState | None = None
        self.unstored = False
        self.is_written = False

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def is_available(self) -> bool:
        return self.state is DeliveryState.AVAILABLE

    @property
    def is_held(self) -> bool:
        """Acquired, and what becomes of it is still its member's to say."""
        return self.state is DeliveryState.ACQUIRED and self.outcome is None

    @property
    def will_be(self) -> DeliveryState:
        """The state once what is asked for is stored; what is acquired may come back."""
        if self.outcome is not None:
            return self.outcome
        return DeliveryState.AVAILABLE if self.state is DeliveryState.ACQUIRED else self.state

    @property
    def past_deliveries(self) -> int:
        """Deliveries that are over: one that is not is forgotten with who has it."""
        return self.deliveries - 1 if self.is_held else self.deliveries

    def become(self, state: DeliveryState) -> None:
        """Leave the member that has it for another state."""
        self.state = state
        self.member = ""
        self.deadline_ms = 0
        self.outcome = None

    def cut(self, offset: int) -> "Run":
        """Give up the offsets from `offset` on; return a run of them."""
        rest = Run(offset, self.end, self.state, self.deliveries)
        rest.member, rest.deadline_ms = self.member, self.deadline_ms
        rest.outcome, rest.unstored, rest.is_written = self.outcome, self.unstored, self.is_written
        self.end = offset
        return rest

    def says_the_same(self, other: "Run") -> bool:
        return (
            self.state is other.state
            and self.deliveries == other.deliveries
            and self.member == other.member
            and self.deadline_ms == other.deadline_ms
            and self.outcome is other.outcome
            and self.unstored == other.unstored
            and self.is_written == other.is_written
        )


class DeliveryRuns:
    """Invariant (`check`): the runs cover `[start, end)` in order, without gaps, none of them empty."""

    __slots__ = ("_runs", "end", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self._runs: list[Run] = []

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def extend(self, end: int, state: DeliveryState, deliveries: int = 0) -> None:
        """Add the offsets up to `end`, of which this is known."""
        if end > self.end:
            self._runs.append(Run(self.end, end, state, deliveries))
            self.end = end

    def between(self, start: int, end: int) -> list[Run]:
        """The runs of these offsets and of no others: those that reach further are cut."""
        start, end = max(start, self.start), min(end, self.end)
        if start >= end:
            return []
        first = self._cut_at(start)
        return self._runs[first : self._cut_at(end)]

    def drop_before(self, offset: int) -> None:
        """Forget the offsets before `offset`; the window goes on from there even if it did not reach it."""
        if offset <= self.start:
            return
        if offset >= self.end:
            self._runs.clear()
            self.end = offset
        else:
            del self._runs[: self._cut_at(offset)]
        self.start = offset

    def join(self) -> None:
        """Make one of neighbours that say the same."""
        joined: list[Run] = []
        for run in self._runs:
            if joined and joined[-1].says_the_same(run):
                joined[-1].end = run.end
            else:
                joined.append(run)
        self._runs = joined

    def check(self) -> None:
        position = self.start
        for run in self._runs:
            assert run.start == position < run.end
            assert (run.state is DeliveryState.ACQUIRED) == bool(run.member)
            assert run.outcome is None or run.state is DeliveryState.ACQUIRED
            position = run.end
        assert position == self.end

    def _cut_at(self, offset: int) -> int:
        """Make a run begin at `offset`; return its place."""
        if offset == self.end:
            return len(self._runs)
        at = bisect_right(self._runs, offset, key=_start) - 1
        run = self._runs[at]
        if run.start == offset:
            return at
        self._runs.insert(at + 1, run.cut(offset))
        return at + 1


def _start(run: Run) -> int:
    return run.start
