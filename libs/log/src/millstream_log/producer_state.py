"""What a partition knows of its idempotent producers: enough to tell a repetition from a gap and to fence the deposed.

No file here: `producer_snapshot` stores it, and the log replays batches into it.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import i64, mypyc_attr

from millstream_log.errors import (
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from millstream_log.transaction_index import AbortedTransaction
from millstream_wire.records import NO_SEQUENCE, NO_TIMESTAMP, BatchHeader, EndMarker

REMEMBERED_BATCHES: Final = 5  # what a producer may have in flight
_SEQUENCES: Final = 1 << 31
_NO_OFFSET: Final = -1


@mypyc_attr(acyclic=True, free_list_len=1)
class AppendedBatch:
    __slots__ = ("first_sequence", "last_offset", "last_sequence", "offset_delta", "timestamp")

    def __init__(
        self, first_sequence: i64, last_sequence: i64, last_offset: i64, offset_delta: i64, timestamp: i64
    ) -> None:
        self.first_sequence = first_sequence
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp

    @property
    def base_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """One producer's latest epoch and, of that epoch, the latest batches."""

    __slots__ = (
        "_batches",
        "_oldest",
        "coordinator_epoch",
        "epoch",
        "last_append_ms",
        "last_timestamp",
        "latest",
        "producer_id",
        "transaction_start",
    )

    def __init__(self, producer_id: i64, epoch: i64) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.latest: AppendedBatch | None = None
        self._batches: list[AppendedBatch] = []
        self._oldest: i64 = 0  # its place, once there are as many as are remembered
        self.coordinator_epoch: i64 = -1
        self.transaction_start: i64 = _NO_OFFSET  # first offset of the transaction that is under way
        self.last_timestamp: i64 = (
            NO_TIMESTAMP  # of its latest batch, or of the end of its transaction if that came later
        )
        self.last_append_ms: i64 = -1  # by this broker's clock: replayed history must not look like silence

    def remember(self, batch: AppendedBatch) -> None:
        self.latest = batch
        self.last_timestamp = batch.timestamp
        if len(self._batches) < REMEMBERED_BATCHES:
            self._batches.append(batch)
        else:
            self._batches[self._oldest] = batch
            self._oldest = (self._oldest + 1) % REMEMBERED_BATCHES

    def find(self, first_sequence: i64, last_sequence: i64) -> AppendedBatch | None:
        """The remembered batch of these sequences."""
        for batch in self._batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def has_ended(self, batch: AppendedBatch) -> bool:
        """Whether the transaction of this batch is over. Who ended it waits for no answer, so what comes with the same numbers is something else."""
        return self.transaction_start == _NO_OFFSET or batch.last_offset < self.transaction_start

    def begin_epoch(self, epoch: i64) -> None:
        self.epoch = epoch
        self.latest = None
        self._batches.clear()
        self._oldest = 0

    @property
    def last_sequence(self) -> i64:
        return NO_SEQUENCE if self.latest is None else self.latest.last_sequence

    @property
    def last_offset(self) -> i64:
        return _NO_OFFSET if self.latest is None else self.latest.last_offset


@mypyc_attr(allow_interpreted_subclasses=True)
class ProducerState:
    """The producers of one partition; a snapshot at `snapshot_offset` holds what was known then."""

    __slots__ = ("_entries", "_open_transactions", "snapshot_offset")

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        self._open_transactions: dict[int, int] = {}  # producer id: first offset
        self.snapshot_offset = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> list[ProducerEntry]:
        return list(self._entries.values())

    def entry(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction under way: readers of committed records stop before it."""
        return min(self._open_transactions.values()) if self._open_transactions else None

    def check(self, header: BatchHeader) -> AppendedBatch | None:
        """Judge a batch that a producer sends: None if it is next, the original if it is a repetition."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None  # an unknown producer starts wherever it says (its state may have expired)
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"producer {header.producer_id} has epoch {entry.epoch}, a batch came with {header.producer_epoch}"
            )
        if entry.transaction_start != _NO_OFFSET and not header.is_transactional:
            raise InvalidTransactionState(
                f"producer {header.producer_id} has a transaction under way, a batch is outside"
            )
        first = header.base_sequence
        if header.producer_epoch > entry.epoch:
            if first != 0:
                raise OutOfOrderSequence(
                    f"producer {header.producer_id} starts epoch {header.producer_epoch} with sequence {first}"
                )
            return None
        expected = (entry.last_sequence + 1) % _SEQUENCES
        if first == expected:
            return None
        original = entry.find(first, header.last_sequence)
        if original is not None and not (header.is_transactional and entry.has_ended(original)):
            return original
        raise OutOfOrderSequence(f"producer {header.producer_id} sends sequence {first} where {expected} is next")

    def update(self, header: BatchHeader, base_offset: i64, *, timestamp: i64, now_ms: i64) -> None:
        """Account for a batch of records that is now in the log at `base_offset`, with `timestamp` as its largest."""
        producer_id = header.producer_id
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id, header.producer_epoch)
        elif entry.epoch != header.producer_epoch:
            entry.begin_epoch(header.producer_epoch)
        delta = header.last_offset_delta
        entry.remember(AppendedBatch(header.base_sequence, header.last_sequence, base_offset + delta, delta, timestamp))
        entry.last_append_ms = now_ms
        if entry.transaction_start == _NO_OFFSET and header.is_transactional:
            entry.transaction_start = self._open_transactions[producer_id] = base_offset

    def check_marker(self, header: BatchHeader, marker: EndMarker) -> None:
        """Refuse a transaction's end that comes from a deposed coordinator or for a deposed producer."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return
        if header.producer_epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"producer {header.producer_id} has epoch {entry.epoch}, a marker came with {header.producer_epoch}"
            )
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"producer {header.producer_id}: coordinator epoch {marker.coordinator_epoch} < {entry.coordinator_epoch}"
            )

    def end_transaction(self, header: BatchHeader, marker: EndMarker, *, now_ms: int) -> AbortedTransaction | None:
        """Account for an end marker that is now in the log; return the transaction if there was one and it is aborted."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._entries[header.producer_id] = ProducerEntry(header.producer_id, header.producer_epoch)
        elif entry.epoch != header.producer_epoch:
            entry.begin_epoch(header.producer_epoch)
        start = entry.transaction_start
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.transaction_start = _NO_OFFSET
        entry.last_timestamp = header.max_timestamp
        entry.last_append_ms = now_ms
        self._open_transactions.pop(header.producer_id, None)
        if marker.committed or start == _NO_OFFSET:
            return None
        unstable = self.first_unstable_offset
        stable = header.next_offset if unstable is None else unstable
        return AbortedTransaction(header.producer_id, start, header.last_offset, stable)

    def restore(self, entry: ProducerEntry) -> None:
        """Take over an entry of a snapshot."""
        self._entries[entry.producer_id] = entry
        if entry.transaction_start != _NO_OFFSET:
            self._open_transactions[entry.producer_id] = entry.transaction_start

    def recall(self, producer_id: int, headers: Iterable[BatchHeader]) -> None:
        """Remember again batches before the snapshot that has been taken over, the latest one among them."""
        entry = self._entries.get(producer_id)
        if entry is None:
            return
        batches = [
            AppendedBatch(
                header.base_sequence,
                header.last_sequence,
                header.last_offset,
                header.last_offset_delta,
                header.max_timestamp,
            )
            for header in headers
            if header.producer_epoch == entry.epoch
        ]
        if batches and batches[-1].last_offset == entry.last_offset:
            entry.begin_epoch(entry.epoch)
            for batch in batches:
                entry.remember(batch)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have been silent; never one with a transaction under way."""
        silent = [
            producer_id
            for producer_id, entry in self._entries.items()
            if entry.transaction_start == _NO_OFFSET and now_ms - entry.last_append_ms >= expiration_ms
        ]
        for producer_id in silent:
            del self._entries[producer_id]
