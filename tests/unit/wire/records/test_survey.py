"""What is found inside records, by both builds of the file; decoding every record is the model."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream_wire.records
from millstream_wire.records import InvalidRecord, Record, decode_batch, encode_batch, parse_header
from millstream_wire.records.batch import HEADER_SIZE

BASE = 1_000
ALL = 1_000


def plain_survey() -> ModuleType:
    """The file as plain Python, whether or not it is compiled."""
    path = Path(millstream_wire.records.__file__).with_name("survey.py")
    spec = spec_from_file_location("plain_survey", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLAIN = plain_survey()
each_build = pytest.mark.parametrize("build", [PLAIN, millstream_wire.records.survey], ids=["plain", "as installed"])

nullable = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), nullable), max_size=3).map(tuple)
timestamps = st.integers(0, 1 << 62) | st.integers(BASE - 70, BASE + 70) | st.just(-1)
record = st.builds(Record, st.just(-1), timestamps, nullable, nullable, headers)
some_records = st.lists(record, min_size=1, max_size=90)
few_records = st.lists(record, min_size=1, max_size=8)


@each_build
@given(some_records)
def test_records_without_a_key_are_found(build: ModuleType, wanted: list[Record]) -> None:
    records = encode_batch(wanted)[HEADER_SIZE:]
    found = [index for index, record in enumerate(wanted) if record.key is None]
    assert build.keyless(records, ALL) == found
    assert build.keyless(records, 2) == found[:2]


@each_build
@given(some_records, timestamps, timestamps)
def test_records_outside_a_time_are_found(build: ModuleType, wanted: list[Record], one: int, other: int) -> None:
    earliest, latest = sorted((one, other))
    records, base = encode_batch(wanted)[HEADER_SIZE:], wanted[0].timestamp
    found = [
        (index, record.timestamp)
        for index, record in enumerate(wanted)
        if record.timestamp != -1 and not earliest <= record.timestamp <= latest
    ]
    assert build.untimely(records, base, earliest, latest, ALL) == found
    assert build.untimely(records, base, earliest, latest, 1) == found[:1]


@each_build
@given(some_records, timestamps, st.integers(-3, 100))
def test_the_first_record_since_a_time_is_found(
    build: ModuleType, wanted: list[Record], timestamp: int, least: int
) -> None:
    records, base = encode_batch(wanted)[HEADER_SIZE:], wanted[0].timestamp
    late = ((r.timestamp, i) for i, r in enumerate(wanted) if r.timestamp >= timestamp and i >= least)
    assert build.first_since(records, base, timestamp, least) == next(late, None)


@each_build
def test_timestamps_may_add_up_to_more_than_a_machine_has_room_for(build: ModuleType) -> None:
    records = encode_batch([Record(-1, 0, None, None), Record(-1, (1 << 63) - 1, None, None)])[HEADER_SIZE:]
    largest = (1 << 63) - 1
    assert build.untimely(records, largest, 0, largest, ALL) == [(1, 2 * largest)]
    assert build.first_since(records, largest, largest + 1, 0) == (2 * largest, 1)


@each_build
@given(few_records, st.data())
def test_what_is_accepted_can_be_decoded(build: ModuleType, wanted: list[Record], data: st.DataObject) -> None:
    garbled = bytearray(encode_batch(wanted))
    for _ in range(data.draw(st.integers(1, 3))):
        garbled[data.draw(st.integers(HEADER_SIZE, len(garbled) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = build.keyless(bytes(garbled[HEADER_SIZE:]), ALL)
    except InvalidRecord:
        return
    header = parse_header(garbled)
    for count in range(len(garbled)):  # how many records there are now is not its to say
        try:
            decoded = decode_batch(bytes(garbled), header.but(record_count=count))
        except InvalidRecord:
            continue
        assert found == [index for index, record in enumerate(decoded) if record.key is None]
        return
    raise AssertionError("accepted, but cannot be decoded")


@each_build
@given(st.binary(max_size=60), timestamps)
def test_garbage_is_refused_or_surveyed(build: ModuleType, garbage: bytes, timestamp: int) -> None:
    for survey in (
        lambda module: module.keyless(garbage, ALL),
        lambda module: module.untimely(garbage, timestamp, 0, BASE, ALL),
        lambda module: module.first_since(garbage, timestamp, BASE, 0),
    ):
        assert _verdict(survey, build) == _verdict(survey, PLAIN)


def _verdict(survey: Callable[[ModuleType], object], build: ModuleType) -> object:
    try:
        return survey(build)
    except InvalidRecord as refusal:
        return str(refusal)
