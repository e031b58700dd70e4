"""Which leader epoch wrote which offsets: the log's memory of its leaders, one line each in a checkpoint file."""

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.checkpoint import parse_lines
from millstream_log.disk import DISK, Disk
from millstream_log.errors import CorruptFile

UNDEFINED_EPOCH: Final = -1
UNDEFINED_OFFSET: Final = -1


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    epoch: int
    end_offset: int


class LeaderEpochs:
    """Invariant: epochs and start offsets both grow from entry to entry."""

    NAME: Final = "leader-epoch-checkpoint"

    __slots__ = ("_disk", "_entries", "is_stored", "path")

    def __init__(self, directory: Path, disk: Disk = DISK) -> None:
        self._disk = disk
        self.path = directory / self.NAME
        self._entries: list[EpochStart] = []
        self.is_stored = True

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    @property
    def latest(self) -> int:
        return self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH

    def load(self) -> None:
        """Read the file; raise `CorruptFile` if it is not one, and leave things empty if there is none."""
        try:
            text = read_file(self.path, self._disk).decode()
        except FileNotFoundError:
            return
        except UnicodeDecodeError as error:
            raise CorruptFile(f"{self.path}: {error}") from error
        entries = [EpochStart(*numbers) for numbers in parse_lines(text, columns=2, path=self.path)]
        for before, after in itertools.pairwise(entries):
            if after.epoch <= before.epoch or after.start_offset < before.start_offset:
                raise CorruptFile(f"{self.path}: epoch {after.epoch} after {before.epoch}")
        self._entries = entries

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that records from `start_offset` on are of this epoch; an epoch that wrote nothing leaves no trace."""
        if epoch <= self.latest:
            return
        while self._entries and self._entries[-1].start_offset >= start_offset:
            self._entries.pop()
        self._entries.append(EpochStart(epoch, start_offset))
        self.is_stored = False

    def end_of(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """Return the largest epoch up to `epoch` and where it ended."""
        if epoch == UNDEFINED_EPOCH or epoch > self.latest or not self._entries:
            return EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == self.latest:
            return EpochEnd(epoch, log_end_offset)
        following = bisect_right(self._entries, epoch, key=itemgetter(0))
        found = self._entries[following - 1].epoch if following else epoch
        return EpochEnd(found, self._entries[following].start_offset)

    def epoch_of(self, offset: int) -> int:
        """Return the epoch that wrote the record at `offset`."""
        at = bisect_right(self._entries, offset, key=itemgetter(1))
        return self._entries[at - 1].epoch if at else UNDEFINED_EPOCH

    def truncate_end(self, end_offset: int) -> None:
        """Forget epochs that began at `end_offset` or later."""
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()
            self.is_stored = False

    def truncate_start(self, start_offset: int) -> None:
        """Forget epochs that ended before `start_offset`; the one that spans it begins there."""
        at = bisect_right(self._entries, start_offset, key=itemgetter(1))
        begun = [EpochStart(spanning.epoch, start_offset) for spanning in self._entries[max(0, at - 1) : at]]
        if self._entries[:at] != begun:
            self._entries[:at] = begun
            self.is_stored = False

    def extend_start(self, earlier: Sequence[EpochStart]) -> None:
        """Remember again what began before all that is known."""
        known, self._entries = self._entries, []
        for epoch, start_offset in (*earlier, *known):
            self.assign(epoch, start_offset)

    def encoded(self) -> bytes:
        lines = ["0", str(len(self._entries)), *(f"{entry.epoch} {entry.start_offset}" for entry in self._entries)]
        return ("\n".join(lines) + "\n").encode()

    def store(self, *, durable: bool = False) -> None:
        replace_file(self.path, self.encoded(), durable=durable, disk=self._disk)
        self.is_stored = True
