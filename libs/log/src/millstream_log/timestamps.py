"""Looking for a time inside a batch."""

from millstream_wire.records import (
    DECOMPRESSED_LIMIT,
    BatchHeader,
    TimestampType,
    encoded_records,
    first_since,
    records_of,
)


def find_in_batch(
    batch: bytes | bytearray, header: BatchHeader, timestamp: int, least_offset_delta: int
) -> tuple[int, int] | None:
    """Timestamp and offset delta of the first record of a batch that is not older than `timestamp`."""
    records = records_of(batch, header, limit=DECOMPRESSED_LIMIT)
    if header.timestamp_type is not TimestampType.LOG_APPEND_TIME:
        return first_since(records, header.base_timestamp, timestamp, least_offset_delta)
    for record in encoded_records(records, header):  # they share their timestamp, which is late enough
        if record.offset_delta >= least_offset_delta:
            return header.max_timestamp, record.offset_delta
    return None
