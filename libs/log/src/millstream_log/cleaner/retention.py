"""What stays of each batch: the rules of compaction, batch by batch in the order of the log; bytes in, bytes out.

Offsets never change. A batch that loses all records stays as a bare header where a producer's last sequence is in it, or where
it ends what is cleaned, so that readers who ask for what comes after find it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from millstream_log.cleaner.key_map import KeyMap
from millstream_log.transaction_index import AbortedTransaction
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import (
    BatchHeader,
    EncodedRecord,
    EndMarker,
    decode_batch,
    encoded_records,
    records_of,
    retain_header,
    retain_records,
)

BATCH_BYTES_MAX = 128 * 1024 * 1024  # what one batch may unfold to


@dataclass(frozen=True, slots=True)
class LastBatch:
    """What the log's producer state says of a producer; an offset of -1: a marker, and no batch of its epoch."""

    last_offset: int
    epoch: int


class AbortedBatches:
    """Which batches belong to transactions that were aborted."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ranges: dict[int, list[AbortedTransaction]] = defaultdict(list)
        for transaction in aborted:
            self._ranges[transaction.producer_id].append(transaction)

    def has(self, header: BatchHeader) -> bool:
        if not header.is_transactional or header.producer_id not in self._ranges:
            return False
        ranges = self._ranges[header.producer_id]
        return any(each.first_offset <= header.base_offset <= each.last_offset for each in ranges)


class BatchRetention:
    """Fed with every batch from the log's start on, markers included: a marker goes once its transaction has left no trace."""

    def __init__(
        self,
        keys: KeyMap,
        aborted: AbortedBatches,
        producers: Mapping[int, LastBatch],
        *,
        mapped_end_offset: int,
        delete_retention_ms: int,
        now_ms: int,
    ) -> None:
        self._keys = keys
        self._aborted = aborted
        self._producers = producers
        self._mapped_end_offset = mapped_end_offset
        self._delete_horizon_ms = now_ms + delete_retention_ms
        self._now_ms = now_ms
        self._traced: set[int] = set()  # producers with batches since their last marker

    def retain(self, batch: bytes, header: BatchHeader) -> bytes | None:
        """Return what stays of the batch: itself, a smaller one, or nothing."""
        if header.is_control:
            return self._retain_marker(batch, header)
        if header.is_transactional:
            self._traced.add(header.producer_id)
        if self._aborted.has(header):
            return self._retain_nothing(batch, header)
        if header.base_offset >= self._mapped_end_offset:
            return batch
        payload = records_of(batch, header, limit=BATCH_BYTES_MAX)
        records = encoded_records(payload, header)
        kept = [record for record in records if self._stays(record, header)]
        if not kept:
            return self._retain_nothing(batch, header)
        if not header.has_delete_horizon and any(record.is_tombstone for record in kept):
            return retain_records(header, payload, kept, delete_horizon_ms=self._delete_horizon_ms)
        return batch if len(kept) == len(records) else retain_records(header, payload, kept)

    def _stays(self, record: EncodedRecord, header: BatchHeader) -> bool:
        if record.key is None:
            return False  # nothing could ever replace it: such records came before the topic was compacted
        if header.base_offset + record.offset_delta < self._keys.last_offset(record.key):
            return False
        return not (record.is_tombstone and self._is_past_horizon(header))

    def _is_past_horizon(self, header: BatchHeader) -> bool:
        return header.has_delete_horizon and header.base_timestamp <= self._now_ms

    def _retain_nothing(self, batch: bytes, header: BatchHeader) -> bytes | None:
        last = self._producers.get(header.producer_id)
        is_last_of_producer = last is not None and last.last_offset == header.last_offset
        if not is_last_of_producer and header.next_offset != self._mapped_end_offset:
            return None
        return batch if header.record_count == 0 else retain_header(header)

    def _retain_marker(self, batch: bytes, header: BatchHeader) -> bytes | None:
        markers = [EndMarker.decode(record) for record in decode_batch(batch, header)]
        if not markers or None in markers or header.base_offset >= self._mapped_end_offset:
            self._traced.discard(header.producer_id)
            return batch
        has_trace = header.producer_id in self._traced
        self._traced.discard(header.producer_id)
        last = self._producers.get(header.producer_id)
        is_all_of_producer = last is not None and last.last_offset < 0 and last.epoch == header.producer_epoch
        if has_trace or is_all_of_producer or header.next_offset == self._mapped_end_offset:
            return batch
        if header.has_delete_horizon:
            return None if self._is_past_horizon(header) else batch
        payload = records_of(batch, header, limit=BATCH_BYTES_MAX)
        records = encoded_records(payload, header)
        return retain_records(header, payload, records, delete_horizon_ms=self._delete_horizon_ms)
