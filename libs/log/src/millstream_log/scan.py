"""Walking through a segment file batch by batch: headers only, or whole batches with their checks."""

from collections.abc import Iterator

from millstream_log.page_cache import Reader
from millstream_wire.records import HEADER_SIZE, BatchHeader, RecordsError, check, parse_header

HEADERS_CHUNK = 8 * 1024  # two index intervals: what a lookup between two entries reads
_CHECKED_CHUNK = 4 * 1024 * 1024
_SEGMENT_OFFSETS = (1 << 31) - 1


def scan_headers(
    fd: int, start: int, end: int, read: Reader, chunk_bytes: int = HEADERS_CHUNK
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each batch in `[start, end)`, which starts and ends on batch boundaries."""
    position = start
    chunk: bytes | bytearray = b""
    chunk_at = start
    while position < end:
        if position + HEADER_SIZE > chunk_at + len(chunk):
            chunk, chunk_at = read(fd, min(chunk_bytes, end - position), position), position
        header = parse_header(chunk, position - chunk_at)
        yield position, header
        position += header.size


def scan_checked(
    fd: int, start: int, end: int, read: Reader, *, first_offset: int
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each intact batch from `start` on; stop before the first that is torn, garbled or out of order."""
    position = start
    chunk, chunk_at = memoryview(b""), start
    next_offset = first_offset
    while position < end:
        have = chunk_at + len(chunk) - position
        if have < HEADER_SIZE:
            chunk, chunk_at = memoryview(read(fd, min(_CHECKED_CHUNK, end - position), position)), position
            have = len(chunk)
        try:
            header = parse_header(chunk, position - chunk_at)
            if position + header.size > end or header.base_offset < next_offset:
                return
            if header.base_offset - first_offset > _SEGMENT_OFFSETS:
                return  # the checksum does not cover the offset: no segment goes so far
            if have < header.size:
                size = max(header.size, min(_CHECKED_CHUNK, end - position))
                chunk, chunk_at = memoryview(read(fd, size, position)), position
            check(chunk[position - chunk_at : position - chunk_at + header.size])
        except RecordsError:
            return
        yield position, header
        next_offset = header.next_offset
        position += header.size
