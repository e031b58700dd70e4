"""Records and the batches that hold them: what clients, coordinators and tools need; brokers keep to `batch`.

Compiled (`compiled/`): whoever reads a topic goes through this for every record.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

from millstream_wire.records.batch import (
    HEADER_SIZE,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    TimestampType,
    attributes_of,
    check,
    split,
    write_header,
)
from millstream_wire.records.compression import Compression, compress, decompress
from millstream_wire.records.errors import InvalidRecord
from millstream_wire.records.varint import decode_varint, encode_varint

DECOMPRESSED_LIMIT: Final = 128 * 1024 * 1024  # what a reader unfolds of one batch, unless it says otherwise

Header: TypeAlias = tuple[str, bytes | None]


@mypyc_attr(acyclic=True)
class Record:
    """One record; a key or value of None is Kafka's null, and a null value is a tombstone.

    A value; no dataclass for the reason that `BatchHeader` is none.
    """

    __slots__ = ("headers", "key", "offset", "timestamp", "value")

    def __init__(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: tuple[Header, ...] = ()
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    @property
    def fields(self) -> tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]:
        return self.offset, self.timestamp, self.key, self.value, self.headers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        return f"Record{self.fields}"


def encode_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    compression: int = Compression.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    transactional: bool = False,
    control: bool = False,
    keep_offsets: bool = False,
) -> bytes:
    """Encode records as one batch, numbered from `base_offset`, or as they are numbered if they keep their offsets."""
    if not records:
        raise ValueError("a batch holds at least one record")
    base_timestamp = records[0].timestamp
    body = bytearray()
    delta = -1
    for index, record in enumerate(records):
        delta = record.offset - base_offset if keep_offsets else index
        body += _encode_record(record, delta, record.timestamp - base_timestamp)
    payload = bytes(body) if compression == Compression.NONE else compress(compression, bytes(body))
    header = BatchHeader(
        base_offset=base_offset,
        length=HEADER_SIZE - _OUTSIDE_LENGTH + len(payload),
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes_of(
            compression=compression, timestamp_type=timestamp_type, transactional=transactional, control=control
        ),
        last_offset_delta=delta,
        base_timestamp=base_timestamp,
        max_timestamp=max(record.timestamp for record in records),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    batch = bytearray(HEADER_SIZE) + payload
    write_header(batch, header)
    return bytes(batch)


def decode_batch(
    batch: bytes | bytearray | memoryview, header: BatchHeader, *, limit: int = DECOMPRESSED_LIMIT
) -> list[Record]:
    """Decode the records of one checked batch."""
    payload = records_of(batch, header, limit=limit)
    base_offset: int = header.base_offset
    base_timestamp: int = header.base_timestamp
    appended: int | None = header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    records: list[Record] = []
    position = 0
    for _ in range(header.record_count):
        end, position = _record_limits(payload, position)
        timestamp_delta, position = decode_varint(payload, position + 1)
        offset_delta, position = decode_varint(payload, position)
        key, position = _decode_nullable(payload, position, end)
        value, position = _decode_nullable(payload, position, end)
        headers, position = _decode_headers(payload, position, end)
        if position != end:
            raise InvalidRecord(f"a record ends {end - position} bytes early")
        timestamp = base_timestamp + timestamp_delta if appended is None else appended
        records.append(Record(base_offset + offset_delta, timestamp, key, value, headers))
    if position != len(payload):
        raise InvalidRecord(f"{len(payload) - position} bytes after the last record")
    return records


def decode_batches(
    records: bytes | bytearray | memoryview, *, control: bool = False, limit: int = DECOMPRESSED_LIMIT
) -> Iterator[Record]:
    """Decode a records field, its torn tail left out; control records only if asked for."""
    for batch in split(records, torn_tail=True):
        header = check(batch)
        if control or not header.is_control:
            yield from decode_batch(batch, header, limit=limit)


def records_of(batch: bytes | bytearray | memoryview, header: BatchHeader, *, limit: int) -> bytes:
    """Return the encoded records of a batch, decompressed."""
    return decompress(header.compression, memoryview(batch)[HEADER_SIZE:], limit=limit)


_OUTSIDE_LENGTH: Final = 12


def _encode_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    parts = [b"\0", encode_varint(timestamp_delta), encode_varint(offset_delta)]
    parts += _encode_nullable(record.key) + _encode_nullable(record.value)
    parts.append(encode_varint(len(record.headers)))
    for name, value in record.headers:
        parts += _encode_nullable(name.encode()) + _encode_nullable(value)
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def _encode_nullable(data: bytes | None) -> list[bytes]:
    return [encode_varint(-1)] if data is None else [encode_varint(len(data)), data]


def _record_limits(buffer: bytes, position: int) -> tuple[int, int]:
    """Where the record whose length is at `position` ends, and where it begins."""
    length, position = decode_varint(buffer, position)
    if length < 0 or position + length > len(buffer):
        raise InvalidRecord(f"a record of {length} bytes with {len(buffer) - position} left")
    return position + length, position


def _decode_nullable(buffer: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = decode_varint(buffer, position)
    if length < 0:
        return None, position
    if position + length > end:
        raise InvalidRecord(f"a field of {length} bytes with {end - position} left in its record")
    return buffer[position : position + length], position + length


def _decode_headers(buffer: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = decode_varint(buffer, position)
    if count == 0:
        return (), position
    if not 0 <= count <= end - position:
        raise InvalidRecord(f"{count} headers with {end - position} bytes left in their record")
    headers: list[Header] = []
    for _ in range(count):
        name, position = _decode_nullable(buffer, position, end)
        value, position = _decode_nullable(buffer, position, end)
        if name is None:
            raise InvalidRecord("a header without a name")
        headers.append((str(name, "utf-8", "replace"), value))
    return tuple(headers), position
