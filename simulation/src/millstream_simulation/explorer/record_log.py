"""A log for the explorer: records in a tuple, each the first of a transaction or the marker that ends it."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from millstream_broker.core.partition.standing import NO_OFFSET
from millstream_log import EpochEnd, EpochStart


class Record(NamedTuple):
    """The first of a transaction, or the marker that ends one."""

    leader_epoch: int
    value: int
    ended_from: int = NO_OFFSET
    """Of a marker: where the transaction began."""


@dataclass(slots=True)
class RecordLog:
    """What a follower, and a leader about its epochs, asks of a log."""

    records: tuple[Record, ...] = ()
    log_start_offset: int = 0

    @property
    def log_end_offset(self) -> int:
        return len(self.records)

    @property
    def first_unstable(self) -> int:
        """Where the transaction began that is open at the log's end; there is one at a time."""
        return len(self.records) - 1 if self.records and self.records[-1].ended_from < 0 else NO_OFFSET

    def ended(self, offset: int) -> list[tuple[int, int]]:
        """The (marker's offset, first offset) of each transaction whose marker is there or later."""
        markers = enumerate(self.records[offset:], offset)
        return [(at, record.ended_from) for at, record in markers if record.ended_from >= 0]

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        """An epoch that wrote nothing leaves no trace."""
        found: list[EpochStart] = []
        for offset, record in enumerate(self.records):
            if not found or record.leader_epoch > found[-1].epoch:
                found.append(EpochStart(record.leader_epoch, offset))
        return tuple(found)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        epochs = self.epochs
        if epoch < 0 or not epochs or epoch > epochs[-1].epoch:
            return EpochEnd(-1, -1)
        if epoch == epochs[-1].epoch:
            return EpochEnd(epoch, self.log_end_offset)
        at = bisect_right([each.epoch for each in epochs], epoch)
        return EpochEnd(epochs[at - 1].epoch if at else epoch, epochs[at].start_offset)
