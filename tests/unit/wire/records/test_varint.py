import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.util import decode_varint as their_decode
from kafka.record.util import encode_varint as their_encode

from millstream_wire.records import InvalidRecord
from millstream_wire.records.varint import decode_varint, encode_varint


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_are_written_as_others_write_them(value: int) -> None:
    ours = encode_varint(value)
    theirs = bytearray()
    their_encode(value, theirs.append)
    assert ours == theirs
    assert decode_varint(b"\xff" + ours, 1) == (value, len(ours) + 1)
    assert their_decode(bytearray(ours))[0] == value


@pytest.mark.parametrize("garbage", [b"", b"\x80", b"\xff" * 11])
def test_numbers_without_an_end_are_refused(garbage: bytes) -> None:
    with pytest.raises(InvalidRecord):
        decode_varint(garbage, 0)
