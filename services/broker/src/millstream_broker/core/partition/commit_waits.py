"""Who waits for offsets of a partition to be committed: producers with acks=all, and those who end transactions.

Each wait belongs to a leader epoch and an offset. The high watermark may pass the same offset again under the next leader
with another record there, so a wait that outlived its epoch would acknowledge what is lost (KAFKA-20634).
"""

import heapq
from collections.abc import Callable
from typing import Final, TypeAlias

from mypy_extensions import i64

from millstream_wire.errors import ErrorCode

Answer: TypeAlias = Callable[[ErrorCode], None]
"""Tells one client; it is handed back, never called here."""

# Waits that are over stay in the heap until it is mostly made of them.
_SWEEP_AT: Final = 64


class CommitWait:
    __slots__ = ("answer", "is_over", "leader_epoch", "offset")

    def __init__(self, leader_epoch: i64, offset: i64, answer: Answer) -> None:
        self.leader_epoch = leader_epoch
        """The epoch in which the record was appended, or found."""
        self.offset = offset
        """Over once the high watermark is above it."""
        self.answer = answer
        self.is_over = False


class CommitWaits:
    """Invariant (`check`): each wait is handed back exactly once, by its commit or with its epoch, unless it is cancelled."""

    __slots__ = ("_added", "_heap", "_over")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, CommitWait]] = []
        """By offset; then in the order in which they came."""
        self._added = 0
        self._over = 0
        """How many in the heap are cancelled."""

    def __len__(self) -> int:
        return len(self._heap) - self._over

    def add(self, leader_epoch: i64, offset: i64, answer: Answer) -> CommitWait:
        wait = CommitWait(leader_epoch, offset, answer)
        self._added += 1
        heapq.heappush(self._heap, (offset, self._added, wait))
        return wait

    def take_committed(self, high_watermark: i64) -> list[CommitWait]:
        taken: list[CommitWait] = []
        while self._heap and self._heap[0][0] < high_watermark:
            self._take(heapq.heappop(self._heap)[2], taken)
        return taken

    def take_all(self) -> list[CommitWait]:
        taken: list[CommitWait] = []
        for _, _, wait in sorted(self._heap, key=lambda entry: entry[1]):
            self._take(wait, taken)
        self._heap.clear()
        return taken

    def cancel(self, wait: CommitWait) -> None:
        if wait.is_over:
            return
        wait.is_over = True
        self._over += 1
        if self._over > _SWEEP_AT and self._over * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].is_over]
            heapq.heapify(self._heap)
            self._over = 0

    def check(self, leader_epoch: i64, high_watermark: i64) -> None:
        """Verify that nobody was forgotten in an epoch that is over, or behind a commit."""
        live = [wait for _, _, wait in self._heap if not wait.is_over]
        assert len(live) == len(self)
        assert all(wait.leader_epoch == leader_epoch and wait.offset >= high_watermark for wait in live)

    def _take(self, wait: CommitWait, taken: list[CommitWait]) -> None:
        if wait.is_over:
            self._over -= 1
        else:
            wait.is_over = True
            taken.append(wait)
