"""The segments of a log, in order: which one holds an offset, and what is found by going through several."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from millstream_log.segment import Read, Segment, TimestampedOffset
from millstream_log.transaction_index import AbortedTransaction, aborted_between


class Segments:
    """Invariants: never empty; each segment ends where the next one begins; `last` takes the appends."""

    __slots__ = ("_all", "last")

    def __init__(self, segments: list[Segment]) -> None:
        self._all = segments
        self.last = segments[-1]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @property
    def first(self) -> Segment:
        return self._all[0]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._all)

    def as_tuple(self) -> tuple[Segment, ...]:
        return tuple(self._all)

    # ---- which there are ----

    def add(self, segment: Segment) -> None:
        """Let `segment` take the appends from now on; a last one that is empty goes."""
        if self.last.size == 0:
            self._all.pop()
        self._all.append(segment)
        self.last = segment

    def replace(self, gone: tuple[Segment, ...], put: Segment) -> None:
        """Let one segment stand for several neighbours, none of them the last."""
        at = self._all.index(gone[0])
        self._all[at : at + len(gone)] = [put]

    def drop_oldest(self, count: int) -> list[Segment]:
        """Let go of the oldest, never of the last."""
        assert count < len(self._all)
        gone, self._all = self._all[:count], self._all[count:]
        return gone

    def take(self, segments: list[Segment]) -> None:
        """Be these from now on."""
        self._all = segments
        self.last = segments[-1]

    # ---- what is in them ----

    def position_of(self, offset: int) -> int:
        """Return the place of the segment that holds `offset`."""
        last = len(self._all) - 1
        if offset >= self.last.base_offset:  # where nearly everybody reads
            return last
        return max(0, bisect_right(self._all, offset, key=lambda segment: segment.base_offset) - 1)

    def read(self, offset: int, max_bytes: int, *, min_one: bool, end_offset: int, may_wait: bool) -> Read | None:
        at = self.position_of(offset)
        while at < len(self._all) and offset < end_offset:
            segment = self._all[at]
            found = segment.read(offset, max_bytes, end_offset=end_offset, min_one=min_one, may_wait=may_wait)
            if found is not None or segment.position_of(offset) < segment.size:
                return found
            at += 1  # cleaning left nothing at the end of this segment
        return None

    def find_timestamp(self, timestamp: int, *, from_offset: int, may_wait: bool) -> TimestampedOffset | None:
        """Find the first record at or after `from_offset` that is not older than `timestamp`."""
        for segment in self._all:
            if segment.max_timestamp >= timestamp and segment.end_offset > from_offset:
                found = segment.find_timestamp(timestamp, from_offset=from_offset, may_wait=may_wait)
                if found is not None:
                    return found
        return None

    @property
    def largest_timestamp(self) -> int:
        return max(segment.max_timestamp for segment in self._all)

    def aborted_transactions(self, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
        indexes = [segment.aborted for segment in self._all[self.position_of(first_offset) :]]
        return aborted_between(indexes, first_offset, end_offset)

    def check(self) -> None:
        """Verify the invariants."""
        assert self.last is self._all[-1]
        for before, after in pairwise(self._all):
            assert before.base_offset < before.end_offset == after.base_offset, (before.end_offset, after.base_offset)
