"""A log as a ring of slots in a store that can only compare and swap one object at a time.

Append number n goes to slot n mod K, and only if that slot still is as this writer last knew it: as append n-K left it. Whoever
slept through even one append finds the slot changed and is fenced, by the write itself and by nothing else. A slot is
overwritten only when a complete snapshot covers what is in it; which snapshot counts is said by the appends themselves,
so that it too moves only under the fence. Sans I/O: the store's calls are made by the caller.
"""

from collections.abc import Iterable
from enum import Enum, auto

from millstream_wire.late_dataclass import dataclass

SLOTS = 64


class RingError(Exception):
    """The slots are not what a sequence of appends leaves behind: nothing may be appended."""


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A complete snapshot: its name, its parts, and what it covers."""

    name: str
    chunks: int
    end_offset: int
    epoch: int
    sequence: int
    """The last append whose records are in it."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One append as it is stored. `writer` and `append_number` tell a writer its own success from another's."""

    sequence: int
    writer: str
    append_number: int
    snapshot: SnapshotRef | None
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredSlot:
    """A slot as the store has it now; `version` changes with every write and is only ever compared for equality."""

    index: int
    version: str
    slot: Slot


@dataclass(frozen=True, slots=True)
class Write:
    """What to write: replace the slot's version `expected`, or create the slot if that is None."""

    index: int
    expected: str | None
    slot: Slot


class Verdict(Enum):
    """What a look into the slot says about a write whose outcome was unknown."""

    DONE = auto()
    RETRY = auto()
    """Not applied (yet): the same write may be tried again, it cannot take effect twice."""
    FENCED = auto()


class Ring:
    """Invariant: one write is outstanding at most; `_next` counts the appends that this writer knows of."""

    def __init__(self, writer: str, size: int = SLOTS) -> None:
        self.size = size
        self._writer = writer
        self._append_number = 0
        self._next = 0
        self._first = 0
        """The first append that could be this writer's since it loaded. From it on, whoever knew less of the log is fenced."""
        self._versions: dict[int, str] = {}
        self._committed: SnapshotRef | None = None
        self._adopted: SnapshotRef | None = None
        self._outstanding: Write | None = None

    @property
    def snapshot(self) -> SnapshotRef | None:
        """The snapshot that the log begins with."""
        return self._committed

    @property
    def last_sequence(self) -> int:
        return self._next - 1

    @property
    def next_index(self) -> int:
        """The slot that the next append goes to."""
        return self._next % self.size

    @property
    def uncovered(self) -> int:
        """How many appends no snapshot covers; with as many as there are slots the ring is full."""
        return self._next - 1 - (self._adopted.sequence if self._adopted is not None else -1)

    @property
    def full(self) -> bool:
        return self.uncovered >= self.size

    def load(self, stored: Iterable[StoredSlot]) -> list[bytes]:
        """Take over what a consistent read found; return the appends after the snapshot, oldest first."""
        by_sequence: dict[int, StoredSlot] = {}
        for found in stored:
            if found.slot.sequence % self.size != found.index or found.slot.sequence in by_sequence:
                raise RingError(f"slot {found.index} holds append {found.slot.sequence} of a ring of another size")
            by_sequence[found.slot.sequence] = found
        last = max(by_sequence, default=-1)
        committed = by_sequence[last].slot.snapshot if by_sequence else None
        first = committed.sequence + 1 if committed is not None else 0
        missing = [sequence for sequence in range(first, last + 1) if sequence not in by_sequence]
        if missing:
            raise RingError(f"append {missing[0]} is missing: its slot was deleted or went back in time")
        self._next = self._first = last + 1
        self._versions = {found.index: found.version for found in by_sequence.values()}
        self._committed = self._adopted = committed
        self._outstanding = None
        return [by_sequence[sequence].slot.data for sequence in range(first, last + 1)]

    def adopt(self, snapshot: SnapshotRef) -> None:
        """Let the log begin with this complete snapshot, from the next append on."""
        assert snapshot.sequence < self._next, "a snapshot covers only what was appended"
        if self._adopted is None or snapshot.sequence > self._adopted.sequence:
            self._adopted = snapshot

    def write(self, data: bytes) -> Write:
        """Begin an append; it ends with `written`, or with `found` saying DONE or FENCED."""
        assert self._outstanding is None, "one append at a time"
        assert not self.full, "a slot is reused only when a snapshot covers it"
        index = self.next_index
        self._append_number += 1
        slot = Slot(self._next, self._writer, self._append_number, self._adopted, data)
        self._outstanding = Write(index, self._versions.get(index), slot)
        return self._outstanding

    def written(self, version: str) -> SnapshotRef | None:
        """The write took effect; return the snapshot that it made obsolete, if it did."""
        assert self._outstanding is not None
        self._versions[self._outstanding.index] = version
        named = self._outstanding.slot.snapshot  # a newer one may have been adopted while the write was under way
        self._outstanding = None
        self._next += 1
        before, self._committed = self._committed, named
        return before if before != self._committed else None

    def is_left_behind(self, name: str, sequence: int) -> bool:
        """Whether no append names this snapshot, now or ever; it covers `sequence` and what precedes that.

        A snapshot is complete, and in the store, before an append names it: that none names it says nothing. But whoever may
        still name one has loaded what this writer appended first, or is this writer, so it covers that too, or is the one that
        this append named itself. That holds however late it is asked, also if others have appended since.
        """
        appended = self._next > self._first
        counts = self._committed is not None and name == self._committed.name
        return appended and sequence < self._first and not counts

    def deposed(self, present: StoredSlot | None) -> bool:
        """Whether a consistent read of `next_index` shows that somebody else appended there."""
        return (None if present is None else present.version) != self._versions.get(self.next_index)

    def found(self, present: StoredSlot | None) -> Verdict:
        """Judge an unknown outcome by a consistent read of the slot that was written."""
        write = self._outstanding
        assert write is not None
        if present is None:
            return Verdict.RETRY if write.expected is None else Verdict.FENCED
        if present.slot == write.slot:
            return Verdict.DONE
        if present.version == write.expected:
            return Verdict.RETRY
        return Verdict.FENCED
