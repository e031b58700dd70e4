"""Reads what one task is to read, as Arrow record batches."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from millstream_spark.segments.batches import Batch, decompressed, read_batches
from millstream_spark.segments.directory import Aborted, Segment, position_of
from millstream_spark.segments.records import Gather

ARROW_BYTES, ARROW_ROWS = 4 << 20, 32_768


def read_segment(segment: Segment, columns: tuple[str, ...], since_ms: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the committed records between the segment's ends, perhaps with older ones. Raises SegmentDamaged."""
    gather = Gather(segment.topic, segment.partition, segment.start, segment.end, columns, segment.path)
    with open(segment.path, "rb", buffering=0) as file:
        for batch in read_batches(file, position_of(Path(segment.path), segment.start), segment.end):
            if _is_wanted(batch, segment, since_ms):
                gather.add(batch, decompressed(batch, segment.path))
                if gather.size >= ARROW_BYTES or gather.rows >= ARROW_ROWS:
                    yield gather.take()
    if gather.rows:
        yield gather.take()


def _is_wanted(batch: Batch, segment: Segment, since_ms: int | None) -> bool:
    # Compaction may leave a batch without records, for its producer's sequence.
    if batch.last_offset < segment.start or batch.is_control or batch.count == 0:
        return False
    if since_ms is not None and batch.max_timestamp < since_ms:
        return False
    return not (batch.is_transactional and _was_aborted(batch, segment.aborted))


def _was_aborted(batch: Batch, aborted: Sequence[Aborted]) -> bool:
    return any(
        entry.producer_id == batch.producer_id and entry.first_offset <= batch.first_offset <= entry.last_offset
        for entry in aborted
    )
