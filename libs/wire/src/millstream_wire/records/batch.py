"""The record batch, version 2: its 61-byte header, its checks and the two fields that a broker fills in.

Nothing here looks at single records or decompresses; a broker's produce path needs no more than this file.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, TypeAlias

from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_be, write_i32_be, write_i64_be
from mypy_extensions import i64, mypyc_attr

from millstream_wire.records.checksum import crc32c
from millstream_wire.records.errors import CorruptBatch, InvalidRecord, UnsupportedFormat

Bytes: TypeAlias = bytes | bytearray | memoryview

HEADER_SIZE: Final = 61
MAGIC: Final = 2
NO_PRODUCER_ID: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1

_LENGTH_PREFIX: Final = 12  # base offset and length: what the declared length does not count
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
_CRC_FROM: Final = 21
_ATTRIBUTES_AT: Final = 21
_MAX_TIMESTAMP_AT: Final = 35
_SEQUENCES: Final = 1 << 31
_COPIED_BYTES: Final = 4096

_COMPRESSION_MASK: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_DELETE_HORIZON: Final = 0x40

_FIELDS: Final = (
    "base_offset",
    "length",
    "leader_epoch",
    "magic",
    "crc",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
)
_header: Final = Struct(">qiibIhiqqqhii")
_offset_and_length: Final = Struct(">qi")
_stamp: Final = Struct(">qii")
_attributes: Final = Struct(">h")
_timestamp: Final = Struct(">q")
_crc: Final = Struct(">I")
_checksum: Final = crc32c  # final: compiled, any other name of a module is searched for


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


@mypyc_attr(acyclic=True, free_list_len=1)
class BatchHeader:
    """The header's fields in their order on the wire.

    Neither a tuple nor a dataclass: one is made for every produced batch, and compiled this costs a tenth.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "length",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "record_count",
    )

    def __init__(
        self,
        base_offset: i64,
        length: i64,
        leader_epoch: i64,
        magic: i64,
        crc: i64,
        attributes: i64,
        last_offset_delta: i64,
        base_timestamp: i64,
        max_timestamp: i64,
        producer_id: i64,
        producer_epoch: i64,
        base_sequence: i64,
        record_count: i64,
    ) -> None:
        self.base_offset = base_offset
        self.length = length
        self.leader_epoch = leader_epoch
        self.magic = magic
        self.crc = crc
        self.attributes = attributes
        self.last_offset_delta = last_offset_delta
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.record_count = record_count

    @property
    def fields(self) -> dict[str, int]:
        """All by name, in their order."""
        return {name: getattr(self, name) for name in _FIELDS}

    def but(self, **changes: int) -> "BatchHeader":
        """The same header with other values in some fields."""
        return BatchHeader(**{**self.fields, **changes})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchHeader) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(tuple(self.fields.values()))

    def __repr__(self) -> str:
        return f"BatchHeader({', '.join(f'{name}={value}' for name, value in self.fields.items())})"

    @property
    def size(self) -> int:
        """The whole batch in bytes, this header included."""
        return self.length + _LENGTH_PREFIX

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The last record's sequence; sequences wrap at 2^31."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCES

    @property
    def compression(self) -> int:
        return self.attributes & _COMPRESSION_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & _LOG_APPEND_TIME else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the cleaner wrote into the base timestamp when tombstones may go (KIP-534)."""
        return bool(self.attributes & _DELETE_HORIZON)


def attributes_of(
    *,
    compression: int,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    transactional: bool = False,
    control: bool = False,
    delete_horizon: bool = False,
) -> int:
    attributes = compression | (_LOG_APPEND_TIME if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
    attributes |= (_TRANSACTIONAL if transactional else 0) | (_CONTROL if control else 0)
    return attributes | (_DELETE_HORIZON if delete_horizon else 0)


def with_delete_horizon(header: BatchHeader, delete_horizon_ms: int) -> BatchHeader:
    """Say from when on the batch's tombstones, or its marker, may go; the base timestamp's place holds that time."""
    return header.but(attributes=header.attributes | _DELETE_HORIZON, base_timestamp=delete_horizon_ms)


def without_records(header: BatchHeader) -> BatchHeader:
    """Take from a batch that loses its records what was said about them: the codec and the delete horizon."""
    return header.but(
        length=HEADER_SIZE - _LENGTH_PREFIX,
        attributes=header.attributes & ~(_COMPRESSION_MASK | _DELETE_HORIZON),
        base_timestamp=header.max_timestamp,
        record_count=0,
    )


def parse_header(buffer: Bytes, position: int = 0) -> BatchHeader:
    """Read the header at `position`; all that is judged is its format and that its length can be one."""
    if len(buffer) - position < HEADER_SIZE:
        raise CorruptBatch(f"{len(buffer) - position} bytes where a batch header has {HEADER_SIZE}")
    header = _read(bytes(buffer[position : position + HEADER_SIZE]))
    if header.magic != MAGIC:
        raise _wrong_magic(header.magic)
    if header.length + _LENGTH_PREFIX < HEADER_SIZE:
        raise CorruptBatch(f"a batch declares {header.length + _LENGTH_PREFIX} bytes")
    return header


def _read(head: bytes) -> BatchHeader:
    """One call a field: compiled, each is a load and a swap."""
    length: int = read_i32_be(head, 8)
    leader_epoch: int = read_i32_be(head, 12)
    magic: i64 = head[_MAGIC_AT]
    crc: int = read_i32_be(head, _CRC_AT)
    attributes: int = read_i16_be(head, _ATTRIBUTES_AT)
    last_offset_delta: int = read_i32_be(head, 23)
    producer_epoch: int = read_i16_be(head, 51)
    base_sequence: int = read_i32_be(head, 53)
    record_count: int = read_i32_be(head, 57)
    return BatchHeader(
        read_i64_be(head, 0),
        length,
        leader_epoch,
        magic if magic < 128 else magic - 256,
        crc & 0xFFFFFFFF,
        attributes,
        last_offset_delta,
        read_i64_be(head, 27),
        read_i64_be(head, _MAX_TIMESTAMP_AT),
        read_i64_be(head, 43),
        producer_epoch,
        base_sequence,
        record_count,
    )


def check(batch: Bytes) -> BatchHeader:
    """Check one batch, which has to fill the buffer exactly, and return its header."""
    if len(batch) < HEADER_SIZE:
        if len(batch) > _MAGIC_AT and batch[_MAGIC_AT] < MAGIC:
            raise _wrong_magic(batch[_MAGIC_AT])
        raise CorruptBatch(f"{len(batch)} bytes where a batch header has {HEADER_SIZE}")
    header = _read(batch if isinstance(batch, bytes) else bytes(batch[:HEADER_SIZE]))
    if header.magic != MAGIC:
        raise _wrong_magic(header.magic)
    if header.length + _LENGTH_PREFIX != len(batch):
        raise CorruptBatch(f"a batch of {len(batch)} bytes declares {header.length + _LENGTH_PREFIX}")
    if isinstance(batch, bytes) and len(batch) <= _COPIED_BYTES:
        covered: bytes | memoryview = batch[_CRC_FROM:]  # a copy of little costs less than a view
    else:
        covered = memoryview(batch)[_CRC_FROM:]
    if _checksum(covered) != header.crc:
        raise CorruptBatch("the checksum does not match")
    check_counts(header)
    return header


def is_intact(batch: Bytes) -> bool:
    """Whether the checksum of these bytes, a header at least, is that of what follows it."""
    declared: int = _crc.unpack_from(batch, _CRC_AT)[0]
    return _checksum(memoryview(batch)[_CRC_FROM:]) == declared


def check_counts(header: BatchHeader) -> None:
    """Refuse what no batch, produced or compacted, may claim about its own records."""
    count, last_delta = header.record_count, header.last_offset_delta
    if last_delta < 0 or not 0 <= count <= last_delta + 1:
        raise InvalidRecord(f"{count} records up to offset delta {last_delta}")
    room = header.length + _LENGTH_PREFIX - HEADER_SIZE
    if count * _SMALLEST_RECORD > room and not header.attributes & _COMPRESSION_MASK:
        raise InvalidRecord(f"{count} records do not fit in {header.size} bytes")


def check_produced(header: BatchHeader) -> None:
    """Check what holds for a client's batch only: fresh offsets, no gaps, no control records, sane sequences."""
    if header.base_offset != 0:
        raise InvalidRecord(f"a produced batch starts at offset 0, not {header.base_offset}")
    if header.record_count != header.last_offset_delta + 1:
        raise InvalidRecord(f"{header.record_count} records up to offset delta {header.last_offset_delta}")
    if header.attributes & _CONTROL:
        raise InvalidRecord("clients do not write control records")
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise InvalidRecord(f"sequence {header.base_sequence} of producer {header.producer_id}")


def split(records: Bytes, *, torn_tail: bool = False) -> Iterator[memoryview]:
    """Cut a records field into its batches by their declared lengths; a fetch response may end in a torn one."""
    view = memoryview(records)
    position, end = 0, len(view)
    while position < end:
        size = -1
        if end - position >= _LENGTH_PREFIX:
            size = _offset_and_length.unpack_from(view, position)[1] + _LENGTH_PREFIX
        if 0 <= size < HEADER_SIZE and not _is_old_format(view, position):
            raise CorruptBatch(f"a batch declares {size} bytes")
        if size < 0 or position + size > end:
            if torn_tail and size >= -1:
                return
            raise CorruptBatch(f"a batch of {size} bytes with {end - position} left")
        yield view[position : position + size]
        position += size


def stamp(batch: Bytes, base_offset: int, leader_epoch: int) -> Bytes:
    """Write the two fields that the leader assigns, before and after the length; both lie outside the checksum.

    In place, unless the batch cannot be written to.
    """
    if not isinstance(batch, bytes):
        writable = _writable(batch)
        _stamp.pack_into(writable, 0, base_offset, len(batch) - _LENGTH_PREFIX, leader_epoch)
        return writable
    stamped = BytesWriter()
    write_i64_be(stamped, base_offset)
    write_i32_be(stamped, len(batch) - _LENGTH_PREFIX)
    write_i32_be(stamped, leader_epoch)
    stamped.write(batch[_MAGIC_AT:])
    return stamped.getvalue()


def stamp_log_append_time(batch: Bytes, timestamp_ms: int) -> bytearray | memoryview:
    """Say that the records carry the broker's time; the checksum is made anew. In place, unless that cannot be."""
    writable = _writable(batch)
    (attributes,) = _attributes.unpack_from(writable, _ATTRIBUTES_AT)
    _attributes.pack_into(writable, _ATTRIBUTES_AT, attributes | _LOG_APPEND_TIME)
    _timestamp.pack_into(writable, _MAX_TIMESTAMP_AT, timestamp_ms)
    seal(writable)
    return writable


def _writable(batch: Bytes) -> bytearray | memoryview:
    if isinstance(batch, bytearray) or (isinstance(batch, memoryview) and not batch.readonly):
        return batch
    return bytearray(batch)


def seal(batch: bytearray | memoryview) -> None:
    """Write the checksum of what the batch holds now."""
    _crc.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[_CRC_FROM:]))


def write_header(batch: bytearray | memoryview, header: BatchHeader) -> None:
    """Write every field of the header, then the checksum over the batch as it stands."""
    _header.pack_into(batch, 0, *header.fields.values())
    seal(batch)


# length, attributes, timestamp delta, offset delta, key length, value length, header count: a byte each
_SMALLEST_RECORD: Final = 7


def _is_old_format(view: memoryview, position: int) -> bool:
    return len(view) - position > _MAGIC_AT and view[position + _MAGIC_AT] < MAGIC


def _wrong_magic(magic: int) -> UnsupportedFormat | CorruptBatch:
    if 0 <= magic < MAGIC:
        return UnsupportedFormat(f"message format {magic} is older than record batches")
    return CorruptBatch(f"magic {magic}")
