"""Variable-length integers and tag sections."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.primitive import DecodeError, read_uvarint, skip_tags, uuid_of, write_uvarint


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (2**31 - 1, b"\xff\xff\xff\xff\x07")],
)
def test_known_varints(value: int, data: bytes) -> None:
    assert write_uvarint(value) == data
    assert read_uvarint(memoryview(data), 0) == (value, len(data))


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_varints_come_back(value: int) -> None:
    assert read_uvarint(memoryview(b"!" + write_uvarint(value)), 1)[0] == value


def test_a_varint_of_six_bytes_is_refused() -> None:
    with pytest.raises(DecodeError):
        read_uvarint(memoryview(b"\x80\x80\x80\x80\x80\x00"), 0)


def test_tags_are_stepped_over() -> None:
    assert skip_tags(memoryview(b"\x02\x00\x01a\x80\x01\x02bc!"), 0) == 9


def test_uuids() -> None:
    raw = bytes(range(16))
    assert uuid_of(raw) == uuid.UUID(bytes=raw)
