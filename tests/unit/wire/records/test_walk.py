import contextlib
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream_wire.records
from millstream_wire.records import InvalidRecord, Record, encode_batch
from millstream_wire.records.batch import HEADER_SIZE

Walk = Callable[[bytes, int, int, int], None]


def plain_walk() -> Walk:
    """The file as plain Python, whether or not it is compiled."""
    path = Path(millstream_wire.records.__file__).with_name("walk.py")
    spec = spec_from_file_location("plain_walk", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    walk: Walk = module.walk
    return walk


PLAIN = plain_walk()
each_build = pytest.mark.parametrize("walk", [PLAIN, millstream_wire.records.walk], ids=["plain", "as installed"])

nullable = st.none() | st.binary(max_size=300)
records = st.lists(
    st.builds(Record, st.just(-1), st.integers(0, 1 << 60), nullable, nullable), min_size=1, max_size=200
)


@each_build
@given(records)
def test_a_batch_is_what_it_claims(walk: Walk, wanted: list[Record]) -> None:
    batch = encode_batch(wanted)
    walk(batch, HEADER_SIZE, len(batch), len(wanted))
    for count in (len(wanted) - 1, len(wanted) + 1):
        with pytest.raises(InvalidRecord):
            walk(batch, HEADER_SIZE, len(batch), count)
    with pytest.raises(InvalidRecord):
        walk(batch, HEADER_SIZE, len(batch) - 1, len(wanted))


@each_build
def test_offset_deltas_count_up_from_zero(walk: Walk) -> None:
    batch = encode_batch([Record(10, 0, None, None), Record(12, 0, None, None)], base_offset=10, keep_offsets=True)
    with pytest.raises(InvalidRecord):
        walk(batch, HEADER_SIZE, len(batch), 2)


@each_build
@given(st.binary(max_size=60), st.integers(0, 5))
def test_garbage_is_refused_or_walked_to_its_end(walk: Walk, garbage: bytes, count: int) -> None:
    with contextlib.suppress(InvalidRecord):
        walk(garbage, 0, len(garbage), count)


@each_build
@settings(max_examples=30)
@given(st.integers(0, 1 << 62), st.sampled_from([1, 64, 65, 8192, 8193]), st.data())
def test_every_length_of_number_is_stepped_over(walk: Walk, step: int, count: int, data: st.DataObject) -> None:
    batch = encode_batch([Record(-1, step * (i % 2), None, None) for i in range(count)])
    walk(batch, HEADER_SIZE, len(batch), count)
    garbled = bytearray(batch)
    garbled[data.draw(st.integers(HEADER_SIZE, len(batch) - 1))] ^= 0xFF
    with contextlib.suppress(InvalidRecord):
        walk(bytes(garbled), HEADER_SIZE, len(batch), count)


def varint(number: int) -> bytes:
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    encoded = bytearray()
    while zigzag >= 0x80:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes(encoded) + bytes([zigzag])


def record(*fields: bytes, delta: int = 0) -> bytes:
    """No attributes, no time, an offset delta; then what is given."""
    body = b"\0\0" + varint(delta) + b"".join(fields)
    return varint(len(body)) + body


NULL, NO_HEADERS = varint(-1), varint(0)
KEY, VALUE = varint(3) + b"key", varint(5) + b"value"
HEADER = varint(1) + varint(1) + b"h" + varint(2) + b"hv"


@each_build
@pytest.mark.parametrize(
    "fields",
    [
        (NULL, NULL, NO_HEADERS),
        (KEY, VALUE, NO_HEADERS),
        (KEY, VALUE, HEADER),
        (varint(70) + b"k" * 70, varint(8191) + b"v" * 8191, NO_HEADERS),
        (NULL, varint(8192) + b"v" * 8192, HEADER),
        (varint(0), varint(0), varint(1) + varint(0) + NULL),
    ],
)
def test_whole_fields_are_taken(walk: Walk, fields: tuple[bytes, ...]) -> None:
    whole = record(*fields)
    walk(whole, 0, len(whole), 1)


@each_build
@pytest.mark.parametrize(
    "fields",
    [
        (),
        (KEY,),
        (KEY, VALUE),
        (varint(-2), VALUE, NO_HEADERS),
        (varint(-64), VALUE, NO_HEADERS),
        (KEY, varint(-2), NO_HEADERS),
        (varint(40) + b"key", VALUE, NO_HEADERS),
        (KEY, varint(40) + b"value", NO_HEADERS),
        (KEY, varint(4) + b"value", NO_HEADERS),
        (KEY, VALUE, varint(-1)),
        (KEY, VALUE, varint(2)),
        (KEY, VALUE, varint(1) + NULL + NULL),
        (KEY, VALUE, varint(1) + varint(1) + b"h" + varint(9) + b"hv"),
        (KEY, VALUE, NO_HEADERS, b"more"),
        (KEY, varint(8192) + b"value", NO_HEADERS),
    ],
)
@pytest.mark.parametrize("followed", [b"", b"".join(record(NULL, NULL, NO_HEADERS, delta=i + 1) for i in range(30))])
def test_broken_fields_are_refused(walk: Walk, fields: tuple[bytes, ...], followed: bytes) -> None:
    """No reader could take such a record, nor what is behind it."""
    broken = record(*fields) + followed
    with pytest.raises(InvalidRecord):
        walk(broken, 0, len(broken), 1 + (30 if followed else 0))


@given(st.binary(max_size=60), st.integers(0, 5))
def test_both_builds_say_the_same(garbage: bytes, count: int) -> None:
    assert _verdict(PLAIN, garbage, count) == _verdict(millstream_wire.records.walk, garbage, count)


def _verdict(walk: Walk, garbage: bytes, count: int) -> str:
    try:
        walk(garbage, 0, len(garbage), count)
    except InvalidRecord as refusal:
        return str(refusal)
    return "whole"
