"""The smallest readable and writable things: variable-length integers, tag sections, uuids.

Everything that refuses bytes in this package refuses them with `DecodeError`.
"""

import uuid
from functools import lru_cache


class DecodeError(ValueError):
    """The bytes are not what the declaration of this message and version says."""


# The largest unsigned varint Kafka writes is 32 bits wide: five bytes of seven bits.
UVARINT_MAX_SHIFT = 28


def read_uvarint(data: memoryview, pos: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
        if shift == UVARINT_MAX_SHIFT:
            raise DecodeError("varint longer than five bytes")
        shift += 7


def write_uvarint(value: int) -> bytes:
    if value < 0x80:
        return SMALL_UVARINTS[value]
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


SMALL_UVARINTS = tuple(bytes((value,)) for value in range(0x80))


def skip_tags(data: memoryview, pos: int) -> int:
    """Step over a tag section of which we know no tag; the caller checks that the end is inside the frame."""
    count, pos = read_uvarint(data, pos)
    for _ in range(count):
        _, pos = read_uvarint(data, pos)
        size, pos = read_uvarint(data, pos)
        pos += size
    return pos


@lru_cache(maxsize=4096)
def uuid_of(raw: bytes) -> uuid.UUID:
    """Remember the few topic ids a node sees: `UUID.__init__` costs more than the rest of a Fetch partition."""
    return uuid.UUID(bytes=raw)
