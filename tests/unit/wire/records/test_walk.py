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


@given(st.binary(max_size=60), st.integers(0, 5))
def test_both_builds_say_the_same(garbage: bytes, count: int) -> None:
    assert _verdict(PLAIN, garbage, count) == _verdict(millstream_wire.records.walk, garbage, count)


def _verdict(walk: Walk, garbage: bytes, count: int) -> str:
    try:
        walk(garbage, 0, len(garbage), count)
    except InvalidRecord as refusal:
        return str(refusal)
    return "whole"
