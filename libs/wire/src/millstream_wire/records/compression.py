"""The codecs of record batches, with a bound on what they may unfold to.

Input comes from the network: whatever it is, the outcome is bytes within the limit or a `RecordsError`. The libraries for
snappy, lz4 and zstd are loaded with the first batch of theirs: they take 2 MB.
"""

import zlib
from enum import IntEnum
from struct import Struct

from millstream_wire.records.errors import CorruptBatch, TooLarge, UnsupportedCompression


class Compression(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16  # magic, version, lowest compatible version
_XERIAL_BLOCK = 32 * 1024
_int32 = Struct(">i")
_GZIP_WINDOW = 31  # the largest window, with gzip's own header and trailer


def compress(codec: int, data: bytes) -> bytes:
    match codec:
        case Compression.NONE:
            return data
        case Compression.GZIP:
            return zlib.compress(data, wbits=_GZIP_WINDOW)
        case Compression.SNAPPY:
            return _compress_xerial(data)
        case Compression.LZ4:
            return _compress_lz4(data)
        case Compression.ZSTD:
            return _compress_zstd(data)
        case _:
            raise UnsupportedCompression(f"compression type {codec}")


def decompress(codec: int, data: bytes | memoryview, *, limit: int) -> bytes:
    """Unfold `data` to at most `limit` bytes."""
    try:
        match codec:
            case Compression.NONE:
                return bytes(data)
            case Compression.GZIP:
                return _decompress_gzip(data, limit)
            case Compression.SNAPPY:
                return _decompress_snappy(bytes(data), limit)
            case Compression.LZ4:
                return _decompress_lz4(data, limit)
            case Compression.ZSTD:
                return _decompress_zstd(data, limit)
            case _:
                raise UnsupportedCompression(f"compression type {codec}")
    except (zlib.error, RuntimeError, EOFError) as error:
        raise CorruptBatch(f"{Compression(codec).name.lower()}: {error}") from error


def _decompress_gzip(data: bytes | memoryview, limit: int) -> bytes:
    out = bytearray()
    rest: bytes | memoryview = data
    while rest:  # several members may follow each other
        stream = zlib.decompressobj(wbits=_GZIP_WINDOW)
        out += stream.decompress(rest, limit + 1 - len(out))
        if len(out) > limit:
            raise TooLarge(f"gzip: more than {limit} bytes")
        if not stream.eof:
            raise CorruptBatch("gzip: ends too early")
        rest = stream.unused_data
    return bytes(out)


def _decompress_lz4(data: bytes | memoryview, limit: int) -> bytes:
    import lz4.frame

    out = bytearray()
    rest: bytes | memoryview = data
    while rest:
        stream = lz4.frame.LZ4FrameDecompressor()
        out += stream.decompress(rest, max_length=limit + 1 - len(out))
        if len(out) > limit:
            raise TooLarge(f"lz4: more than {limit} bytes")
        if not stream.eof:
            raise CorruptBatch("lz4: ends too early")
        rest = stream.unused_data or b""
    return bytes(out)


def _decompress_zstd(data: bytes | memoryview, limit: int) -> bytes:
    import cramjam

    size = min(max(8 * len(data), 64 * 1024), limit)
    while True:
        out = bytearray(size)
        try:
            used = cramjam.zstd.decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):  # anything but too little room
                raise CorruptBatch(f"zstd: {error}") from error
            if size == limit:
                raise TooLarge(f"zstd: more than {limit} bytes") from error
            size = min(4 * size, limit)
            continue
        return bytes(memoryview(out)[:used])


def _decompress_snappy(data: bytes, limit: int) -> bytes:
    """Read both framings: librdkafka writes bare snappy, Java's clients the blocks of snappy-java."""
    if not data.startswith(_XERIAL_MAGIC):
        return _decompress_bare_snappy(data, limit)
    out = bytearray()
    position = _XERIAL_HEADER
    while position < len(data):
        if position + _int32.size > len(data):
            raise CorruptBatch("snappy: ends inside a block's length")
        (size,) = _int32.unpack_from(data, position)
        position += _int32.size
        if size < 0 or position + size > len(data):
            raise CorruptBatch(f"snappy: a block of {size} bytes with {len(data) - position} left")
        out += _decompress_bare_snappy(data[position : position + size], limit - len(out))
        position += size
    return bytes(out)


def _decompress_bare_snappy(data: bytes, limit: int) -> bytes:
    import cramjam

    try:
        if cramjam.snappy.decompress_raw_len(data) > limit:
            raise TooLarge(f"snappy: more than {limit} bytes")
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy: {error}") from error


def _compress_lz4(data: bytes) -> bytes:
    import lz4.frame

    # Independent blocks of 64 KiB: the only kind that Java's reader takes.
    block = lz4.frame.BLOCKSIZE_MAX64KB
    return bytes(lz4.frame.compress(data, block_size=block, block_linked=False, store_size=False))


def _compress_zstd(data: bytes) -> bytes:
    import cramjam

    return bytes(cramjam.zstd.compress(data))


def _compress_xerial(data: bytes) -> bytes:
    import cramjam

    out = bytearray(_XERIAL_MAGIC + _int32.pack(1) + _int32.pack(1))
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        out += _int32.pack(len(block))
        out += block
    return bytes(out)
