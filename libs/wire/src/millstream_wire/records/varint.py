"""Zigzag variable-length integers, as records use them (the protocol's own unsigned ones belong to the codec)."""

from typing import Final

from millstream_wire.records.errors import InvalidRecord

_MAX_BYTES: Final = 10


def encode_varint(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    if zigzag < 0x80:
        return _ONE_BYTE[zigzag]
    out = bytearray()
    while zigzag >= 0x80:
        out.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def decode_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the value and the position after it."""
    shift = zigzag = 0
    try:
        first = buffer[position]
        if first < 0x80:  # most are, and most others have two bytes: a loop costs more than they do
            return (first >> 1) ^ -(first & 1), position + 1
        second = buffer[position + 1]
        if second < 0x80:
            zigzag = (first & 0x7F) | second << 7
            return (zigzag >> 1) ^ -(zigzag & 1), position + 2
        for at in range(position, position + _MAX_BYTES):
            byte = buffer[at]
            zigzag |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (zigzag >> 1) ^ -(zigzag & 1), at + 1
            shift += 7
    except IndexError:
        raise InvalidRecord("the records end inside a number") from None
    raise InvalidRecord("a number of more than ten bytes")


_ONE_BYTE: Final = [bytes([n]) for n in range(0x80)]
