"""The three offsets up to which a partition is there, is committed, and is decided; on its leader and on followers alike.

Who may move the high watermark, and up to where, is the standing's to say. What follows from it for transactions and for who
waits for bytes is here.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import i64

from millstream_broker.core.partition.effects import Committed
from millstream_broker.core.partition.uncommitted import UNKNOWN_SIZE, Uncommitted

NO_OFFSET: Final = -1


class Marks:
    """Invariant (`check`): 0 <= last stable offset <= high watermark <= end offset; none of the three falls but by `cut`."""

    __slots__ = (
        "_ended",
        "_first_unstable",
        "_held_size",
        "_uncommitted",
        "end_offset",
        "high_watermark",
        "last_stable_offset",
    )

    def __init__(
        self, end_offset: i64, high_watermark: i64, first_unstable: i64, ended: Iterable[tuple[int, int]]
    ) -> None:
        self.end_offset: i64 = end_offset
        """The log's end as it was last told."""
        self.high_watermark: i64 = high_watermark
        """Every record before it is committed."""
        self._first_unstable: i64 = first_unstable
        """The first offset of the oldest transaction without its end in the log; NO_OFFSET if there is none."""
        self._ended: list[tuple[int, int]] = []
        """(marker's offset, first offset) of transactions whose marker is not below the high watermark: still undecided."""
        self.last_stable_offset: i64 = 0
        """Every record before it is committed, and so is the end of the transaction it is part of. Moves with the high watermark."""
        self._uncommitted = Uncommitted()
        self._held_size: i64 = 0
        """At least the bytes between the last stable offset and the high watermark."""
        self.cut(end_offset, high_watermark, first_unstable, ended)

    def commit_all(self, end_offset: i64) -> None:
        """The log reaches up to `end_offset`, all of it is committed, and no transaction is open; nobody has to hear of it."""
        self.end_offset = self.high_watermark = self.last_stable_offset = end_offset
        self._first_unstable = NO_OFFSET
        self._held_size = 0

    def grow(self, end_offset: i64, size: i64, first_unstable: i64, ended: Iterable[tuple[int, int]] = ()) -> None:
        """More is in the log: it is not committed yet, and neither are the ends of transactions in it."""
        self.end_offset = end_offset
        self._first_unstable = first_unstable
        self._ended += ended
        self._uncommitted.add(end_offset, size)

    def grow_committed(self, end_offset: i64, size: i64, first_unstable: i64) -> Committed:
        """More is in the log, and is committed with that, as everything before it was."""
        self.end_offset = end_offset
        self._first_unstable = first_unstable
        return self._commit(end_offset, size)

    def commit(self, high_watermark: i64) -> Committed:
        return self._commit(high_watermark, self._uncommitted.take(high_watermark))

    def cut(self, end_offset: i64, high_watermark: i64, first_unstable: i64, ended: Iterable[tuple[int, int]]) -> None:
        """The log is what it is from here on; sizes are not known any more."""
        self.end_offset = end_offset
        self.high_watermark = high_watermark
        self._first_unstable = first_unstable
        self._ended = [(marker, first) for marker, first in ended if marker >= high_watermark]
        self.last_stable_offset = self._stable_offset()
        self._held_size = UNKNOWN_SIZE if self.last_stable_offset < high_watermark else 0
        self._uncommitted.cut(high_watermark, end_offset)

    def _commit(self, high_watermark: i64, size: i64) -> Committed:
        self.high_watermark = high_watermark
        if self._ended:
            self._ended = [(marker, first) for marker, first in self._ended if marker >= high_watermark]
        stable = self._stable_offset()
        held = self._held_size + size
        stable_size: i64 = 0
        if stable > self.last_stable_offset:
            stable_size = held
            self.last_stable_offset = stable
        # What is held back in part counts again when the rest of it is let go.
        self._held_size = 0 if stable == high_watermark else held
        return Committed(high_watermark, stable, size, stable_size)

    def _stable_offset(self) -> i64:
        stable = self.high_watermark
        if 0 <= self._first_unstable < stable:
            stable = self._first_unstable
        for _, first in self._ended:
            begun: i64 = first
            stable = min(stable, begun)
        return stable

    def check(self) -> None:
        assert 0 <= self.last_stable_offset <= self.high_watermark <= self.end_offset
        assert self.last_stable_offset == self._stable_offset()
        assert all(self.high_watermark <= marker < self.end_offset for marker, _ in self._ended)
        self._uncommitted.check()
