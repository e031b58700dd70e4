from collections.abc import Callable
from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_wire.records import (
    CorruptBatch,
    InvalidRecord,
    Record,
    RecordsError,
    TimestampType,
    UnsupportedFormat,
    check,
    check_produced,
    decode_batches,
    encode_batch,
    parse_header,
    split,
    stamp,
    stamp_log_append_time,
)
from millstream_wire.records.batch import write_header

ONE = Record(-1, 1000, b"k", b"v")


def altered(batch: bytes, **fields: int) -> bytearray:
    """The same batch with header fields changed and the checksum right again."""
    out = bytearray(batch)
    write_header(out, check(batch).but(**fields))
    return out


def test_stamping_leaves_the_checksum_valid() -> None:
    batch = bytearray(encode_batch([ONE, ONE]))
    stamp(batch, base_offset=700, leader_epoch=4)
    header = check(batch)
    assert (header.base_offset, header.leader_epoch, header.last_offset, header.next_offset) == (700, 4, 701, 702)


def test_log_append_time_is_every_records_time() -> None:
    batch = bytearray(encode_batch([ONE, ONE]))
    stamp_log_append_time(batch, 5000)
    assert check(batch).timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in decode_batches(batch)] == [5000, 5000]


def test_every_flipped_bit_is_noticed() -> None:
    batch = encode_batch([ONE])
    for bit in range(8 * 16, 8 * len(batch)):  # offset and epoch are the broker's, and outside the checksum
        garbled = bytearray(batch)
        garbled[bit // 8] ^= 1 << bit % 8
        with pytest.raises((CorruptBatch, UnsupportedFormat)):
            check(garbled)


@pytest.mark.parametrize("cut", [0, 1, 16, 17, 60, 61, -1])
def test_a_cut_batch_is_corrupt(cut: int) -> None:
    with pytest.raises(CorruptBatch):
        check(encode_batch([ONE])[:cut])


def test_old_formats_are_refused_by_name() -> None:
    message = bytearray(34)
    pack_into(">qiIbb", message, 0, 0, 22, 0, 1, 0)
    with pytest.raises(UnsupportedFormat):
        check(message)


@pytest.mark.parametrize(
    "fields",
    [
        {"record_count": 3},
        {"record_count": -1},
        {"record_count": 1_000_000, "last_offset_delta": 999_999},
        {"last_offset_delta": -1},
        {"last_offset_delta": 0},
    ],
)
def test_a_count_that_cannot_be_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(InvalidRecord):
        check(altered(encode_batch([ONE, ONE]), **fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"base_offset": 1},
        {"last_offset_delta": 5},
        {"attributes": 0x20},
        {"producer_id": 7, "producer_epoch": 0, "base_sequence": -1},
        {"producer_id": 7, "producer_epoch": -1, "base_sequence": 0},
    ],
)
def test_what_only_a_broker_may_write_is_refused_from_clients(fields: dict[str, int]) -> None:
    header = check(altered(encode_batch([ONE, ONE]), **fields))
    with pytest.raises(InvalidRecord):
        check_produced(header)


def test_sequences_wrap() -> None:
    batch = encode_batch([ONE, ONE, ONE], producer_id=1, producer_epoch=0, base_sequence=(1 << 31) - 2)
    assert check(batch).last_sequence == 0


def test_a_records_field_may_hold_several_batches_and_a_torn_one() -> None:
    first, second = encode_batch([ONE]), encode_batch([ONE, ONE])
    assert [bytes(batch) for batch in split(first + second)] == [first, second]
    assert [bytes(batch) for batch in split(first + second[:-1], torn_tail=True)] == [first]
    with pytest.raises(CorruptBatch):
        list(split(first + second[:-1]))


@given(st.binary(max_size=200), st.booleans())
def test_garbage_is_an_error_and_nothing_else(garbage: bytes, torn_tail: bool) -> None:
    try:
        for batch in split(garbage, torn_tail=torn_tail):
            check(batch)
    except RecordsError:
        pass


def test_the_header_is_as_long_as_kafkas() -> None:
    assert len(parse_header(encode_batch([ONE])).fields) == 13
    assert len(encode_batch([Record(-1, 0, None, None)])) == 61 + 7


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda batch: memoryview(bytearray(batch))])
def test_any_kind_of_bytes_can_be_stamped(kind: Callable[[bytes], bytes | bytearray | memoryview]) -> None:
    batch = encode_batch([ONE, ONE])
    in_place = bytearray(batch)
    assert stamp(in_place, 1 << 40, 7) is in_place
    assert bytes(stamp(kind(batch), 1 << 40, 7)) == in_place
    assert stamp_log_append_time(in_place, 99) is in_place
    stamped = stamp_log_append_time(stamp(kind(batch), 1 << 40, 7), 99)
    assert bytes(stamped) == in_place
    assert check(stamped).max_timestamp == 99
    assert check(batch).base_offset == 0
