"""What a batch that is in the log says of its producer."""

from millstream_log.producer_state import ProducerState
from millstream_log.transaction_index import AbortedTransaction
from millstream_wire.records import BatchHeader, EndMarker, decode_batch


def replay(
    producers: ProducerState, header: BatchHeader, batch: bytes | bytearray | memoryview, now_ms: int
) -> AbortedTransaction | None:
    """Account for a batch; of control batches, only the ends of transactions say anything. Return what it aborted."""
    if not header.is_control:
        if header.producer_id >= 0:
            producers.update(header, header.base_offset, timestamp=header.max_timestamp, now_ms=now_ms)
        return None
    aborted = None
    for record in decode_batch(batch, header):
        marker = EndMarker.decode(record)
        if marker is not None:
            aborted = producers.end_transaction(header, marker, now_ms=now_ms) or aborted
    return aborted


def begun_at(producers: ProducerState, header: BatchHeader) -> int:
    """Before a batch is replayed: where the transaction began that it ends if it is a marker; -1 if none is under way."""
    entry = producers.entry(header.producer_id) if header.is_control else None
    return -1 if entry is None else int(entry.transaction_start)


def check_control(producers: ProducerState, header: BatchHeader, batch: bytes | bytearray | memoryview) -> None:
    """Refuse a control batch that ends a transaction which is not its sender's to end."""
    for record in decode_batch(batch, header):
        marker = EndMarker.decode(record)
        if marker is not None:
            producers.check_marker(header, marker)
