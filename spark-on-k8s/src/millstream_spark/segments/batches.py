"""The record batches of a segment's file: found, checked and decompressed. What is not whole and sound is refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import BinaryIO

import pyarrow as pa
from crc32c import crc32c

from millstream_spark.errors import SegmentDamaged

HEADER = Struct(">qiibIhiqqqhii")
LENGTH_FROM = 12  # the length counts what comes after it
CRC_FROM = 21
MAGIC = 2
CHUNK_BYTES = 8 << 20
RECORDS_BYTES_MAX = 1 << 30  # of one batch, decompressed

COMPRESSION = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20

STREAMED = {1: "gzip", 3: "lz4", 4: "zstd"}
SNAPPY = 2
XERIAL = b"\x82SNAPPY\x00"
XERIAL_HEADER_SIZE = 16


@dataclass(frozen=True, slots=True)
class Batch:
    first_offset: int
    last_offset: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    count: int
    records: memoryview
    """As they are stored: perhaps compressed."""

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)


def read_batches(file: BinaryIO, position: int, end_offset: int) -> Iterator[Batch]:
    """Yield the batches from a position on that begin before an offset. Raises SegmentDamaged."""
    following = -1
    file.seek(position)
    left = b""
    want = CHUNK_BYTES
    while True:
        read = file.read(want)
        data = left + read if left else read
        at = 0
        while len(data) - at >= HEADER.size:
            first, length, _, magic, crc, *_ = fields = HEADER.unpack_from(data, at)
            end = at + LENGTH_FROM + length
            if magic != MAGIC or length < HEADER.size - LENGTH_FROM or first < following:
                raise SegmentDamaged(f"{file.name}: no batch of version {MAGIC} where offset {following} was to follow")
            if first >= end_offset:
                return
            if end > len(data):
                break
            body = memoryview(data)
            if crc32c(body[at + CRC_FROM : end]) != crc:
                raise SegmentDamaged(f"{file.name}: the batch at offset {first} is damaged: its checksum is another")
            yield Batch(
                first_offset=first,
                last_offset=first + fields[6],
                attributes=fields[5],
                base_timestamp=fields[7],
                max_timestamp=fields[8],
                producer_id=fields[9],
                count=fields[12],
                records=body[at + HEADER.size : end],
            )
            following = first + fields[6] + 1
            at = end
        left = data[at:]
        # What is missing of a batch that is larger than a chunk, at once.
        want = CHUNK_BYTES
        if len(left) >= HEADER.size:
            want = max(want, LENGTH_FROM + HEADER.unpack_from(left)[1] - len(left))
        if not read:
            if left:
                raise SegmentDamaged(f"{file.name}: its last batch, after offset {following - 1}, is torn")
            return


def decompressed(batch: Batch, name: str) -> memoryview:
    codec = batch.attributes & COMPRESSION
    if codec == 0:
        return batch.records
    try:
        if codec in STREAMED:
            return _streamed(batch.records, STREAMED[codec])
        if codec == SNAPPY:
            return _snappy(batch.records)
    except (OSError, ValueError, IndexError) as error:
        raise SegmentDamaged(
            f"{name}: the batch at offset {batch.first_offset} does not decompress: {error}"
        ) from error
    raise SegmentDamaged(f"{name}: the batch at offset {batch.first_offset} is of codec {codec}, which nobody knows")


def _streamed(data: memoryview, codec: str) -> memoryview:
    parts = []
    size = 0
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), codec) as stream:
        while part := stream.read(max(1 << 16, 8 * len(data))):
            parts.append(part)
            size += len(part)
            if size > RECORDS_BYTES_MAX:
                raise ValueError(f"more than {RECORDS_BYTES_MAX} bytes")
    return memoryview(parts[0] if len(parts) == 1 else b"".join(parts))


def _snappy(data: memoryview) -> memoryview:
    """Java's clients write it in blocks with lengths, librdkafka as one."""
    if bytes(data[: len(XERIAL)]) != XERIAL:
        return _snappy_block(data)
    parts = []
    size = 0
    at = XERIAL_HEADER_SIZE
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if at + 4 + length > len(data):
            raise ValueError("a block is torn")
        parts.append(_snappy_block(data[at + 4 : at + 4 + length]))
        size += len(parts[-1])
        if size > RECORDS_BYTES_MAX:
            raise ValueError(f"more than {RECORDS_BYTES_MAX} bytes")
        at += 4 + length
    return memoryview(b"".join(parts))


def _snappy_block(data: memoryview) -> memoryview:
    size = shift = at = 0
    while True:
        byte = data[at]
        size |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    if size > RECORDS_BYTES_MAX:
        raise ValueError(f"more than {RECORDS_BYTES_MAX} bytes")
    return memoryview(pa.decompress(pa.py_buffer(data), decompressed_size=size, codec="snappy"))
