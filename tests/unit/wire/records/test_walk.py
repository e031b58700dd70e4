import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_wire.records import InvalidRecord, Record, encode_batch, walk
from millstream_wire.records.batch import HEADER_SIZE

nullable = st.none() | st.binary(max_size=300)
records = st.lists(
    st.builds(Record, st.just(-1), st.integers(0, 1 << 60), nullable, nullable), min_size=1, max_size=200
)


@given(records)
def test_a_batch_is_what_it_claims(wanted: list[Record]) -> None:
    batch = encode_batch(wanted)
    walk(batch, HEADER_SIZE, len(batch), len(wanted))
    for count in (len(wanted) - 1, len(wanted) + 1):
        with pytest.raises(InvalidRecord):
            walk(batch, HEADER_SIZE, len(batch), count)
    with pytest.raises(InvalidRecord):
        walk(batch, HEADER_SIZE, len(batch) - 1, len(wanted))


def test_offset_deltas_count_up_from_zero() -> None:
    batch = encode_batch([Record(10, 0, None, None), Record(12, 0, None, None)], base_offset=10, keep_offsets=True)
    with pytest.raises(InvalidRecord):
        walk(batch, HEADER_SIZE, len(batch), 2)


@given(st.binary(max_size=60), st.integers(0, 5))
def test_garbage_is_refused_or_walked_to_its_end(garbage: bytes, count: int) -> None:
    with contextlib.suppress(InvalidRecord):
        walk(garbage, 0, len(garbage), count)


@settings(max_examples=30)
@given(st.integers(0, 1 << 62), st.sampled_from([1, 64, 65, 8192, 8193]), st.data())
def test_every_length_of_number_is_stepped_over(step: int, count: int, data: st.DataObject) -> None:
    batch = encode_batch([Record(-1, step * (i % 2), None, None) for i in range(count)])
    walk(batch, HEADER_SIZE, len(batch), count)
    garbled = bytearray(batch)
    garbled[data.draw(st.integers(HEADER_SIZE, len(batch) - 1))] ^= 0xFF
    with contextlib.suppress(InvalidRecord):
        walk(bytes(garbled), HEADER_SIZE, len(batch), count)
