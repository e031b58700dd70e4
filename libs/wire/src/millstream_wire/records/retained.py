"""Batches that lose some of their records, as compaction leaves them: records move as the bytes they are.

Nothing here decides what is lost. Offsets, sequences, producer and codec stay those of the original; a delete horizon (KIP-534)
takes the place of the base timestamp, and the records' timestamps are told relative to it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from millstream_wire.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    TimestampType,
    with_delete_horizon,
    without_records,
    write_header,
)
from millstream_wire.records.compression import compress
from millstream_wire.records.errors import InvalidRecord
from millstream_wire.records.varint import decode_varint, encode_varint

_OUTSIDE_LENGTH = 12


class EncodedRecord(NamedTuple):
    """Where in its batch's payload a record is, and what compaction has to know of it."""

    start: int
    end: int
    timestamp_end: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    is_tombstone: bool


def encoded_records(payload: bytes, header: BatchHeader) -> list[EncodedRecord]:
    """Find the records of a checked batch in its decompressed payload."""
    records = []
    position = 0
    for _ in range(header.record_count):
        start = position
        length, position = decode_varint(payload, position)
        end = position + length
        if length < 0 or end > len(payload):
            raise InvalidRecord(f"a record of {length} bytes with {len(payload) - position} left")
        timestamp_delta, timestamp_end = decode_varint(payload, position + 1)
        offset_delta, position = decode_varint(payload, timestamp_end)
        key_length, position = decode_varint(payload, position)
        key = None
        if key_length >= 0:
            key = payload[position : position + key_length]
            position += key_length
        value_length, position = decode_varint(payload, position)
        if position > end:
            raise InvalidRecord(f"a record of {length} bytes ends inside a field")
        records.append(EncodedRecord(start, end, timestamp_end, timestamp_delta, offset_delta, key, value_length < 0))
        position = end
    if position != len(payload):
        raise InvalidRecord(f"{len(payload) - position} bytes after the last record")
    return records


def retain_records(
    header: BatchHeader, payload: bytes, kept: Sequence[EncodedRecord], *, delete_horizon_ms: int | None = None
) -> bytes:
    """Encode the batch with only these of its records, and with a delete horizon if one is given."""
    assert kept, "a batch without records is `retain_header`"
    shift = 0 if delete_horizon_ms is None else header.base_timestamp - delete_horizon_ms
    if shift:
        body = b"".join(_shifted(payload, record, shift) for record in kept)
    else:
        body = b"".join(payload[record.start : record.end] for record in kept)
    max_timestamp = header.max_timestamp
    if header.timestamp_type is TimestampType.CREATE_TIME:
        max_timestamp = header.base_timestamp + max(record.timestamp_delta for record in kept)
    body = compress(header.compression, body)
    changed = header.but(
        length=HEADER_SIZE - _OUTSIDE_LENGTH + len(body), max_timestamp=max_timestamp, record_count=len(kept)
    )
    if delete_horizon_ms is not None:
        changed = with_delete_horizon(changed, delete_horizon_ms)
    return _sealed(changed, body)


def retain_header(header: BatchHeader) -> bytes:
    """Encode what is left of a batch without records: its offsets, and who wrote it up to which sequence."""
    return _sealed(without_records(header), b"")


def _sealed(header: BatchHeader, body: bytes) -> bytes:
    batch = bytearray(HEADER_SIZE) + body
    write_header(batch, header)
    return bytes(batch)


def _shifted(payload: bytes, record: EncodedRecord, shift: int) -> bytes:
    timestamp = encode_varint(record.timestamp_delta + shift)
    rest = payload[record.timestamp_end : record.end]
    return encode_varint(1 + len(timestamp) + len(rest)) + b"\0" + timestamp + rest
