import contextlib
import gzip

import cramjam
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.records import (
    Compression,
    CorruptBatch,
    RecordsError,
    TooLarge,
    UnsupportedCompression,
    compress,
    decompress,
)

codecs = st.sampled_from(list(Compression))
LIMIT = 1 << 20


@given(codecs, st.binary(max_size=100_000))
def test_round_trip(codec: Compression, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), limit=LIMIT) == data


@given(codecs, st.binary(max_size=300))
def test_garbage_is_an_error_or_bounded(codec: Compression, garbage: bytes) -> None:
    with contextlib.suppress(RecordsError):
        assert len(decompress(codec, garbage, limit=1000)) <= 1000


@given(codecs, st.integers(0, 200), st.integers(0, 255))
def test_garbled_frames_are_an_error_or_bounded(codec: Compression, position: int, byte: int) -> None:
    frame = bytearray(compress(codec, b"some text " * 50))
    frame[position % len(frame)] = byte
    with contextlib.suppress(RecordsError):
        assert len(decompress(codec, bytes(frame), limit=1000)) <= 1000


@pytest.mark.parametrize("codec", [c for c in Compression if c is not Compression.NONE])
def test_a_bomb_is_refused(codec: Compression) -> None:
    bomb = compress(codec, bytes(LIMIT + 1))
    with pytest.raises(TooLarge):
        decompress(codec, bomb, limit=LIMIT)
    assert decompress(codec, bomb, limit=LIMIT + 1) == bytes(LIMIT + 1)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
def test_a_cut_frame_is_corrupt(codec: Compression) -> None:
    with pytest.raises(CorruptBatch):
        decompress(codec, compress(codec, b"some text " * 50)[:-3], limit=LIMIT)


def test_both_framings_of_snappy_are_read() -> None:
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(b"bare")), limit=LIMIT) == b"bare"
    framed = compress(Compression.SNAPPY, b"framed" * 10_000)
    assert framed.startswith(b"\x82SNAPPY\x00")
    assert decompress(Compression.SNAPPY, framed, limit=LIMIT) == b"framed" * 10_000


def test_frames_may_follow_each_other() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"a") + gzip.compress(b"b"), limit=LIMIT) == b"ab"
    assert decompress(Compression.LZ4, lz4.frame.compress(b"a") + lz4.frame.compress(b"b"), limit=LIMIT) == b"ab"


def test_unknown_codecs_have_their_own_error() -> None:
    with pytest.raises(UnsupportedCompression):
        decompress(5, b"", limit=LIMIT)
    with pytest.raises(UnsupportedCompression):
        compress(5, b"")
