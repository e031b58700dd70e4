import contextlib
from collections.abc import Callable

import aiokafka.record.default_records as aio
import kafka.record.default_records as kp
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from millstream_wire.records import (
    Compression,
    EndMarker,
    InvalidRecord,
    Record,
    RecordsError,
    check,
    decode_batch,
    decode_batches,
    encode_batch,
)
from millstream_wire.records.batch import HEADER_SIZE, seal

nullable = st.none() | st.binary(max_size=40)
headers = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=8), nullable), max_size=3).map(tuple)
record = st.builds(Record, st.just(-1), st.integers(0, 1 << 45), nullable, nullable, headers)
records = st.lists(record, min_size=1, max_size=12)
codecs = st.sampled_from(list(Compression))
KAFKA_PYTHON_LACKS = {Compression.SNAPPY, Compression.ZSTD}  # it would need two more packages; aiokafka covers them


def numbered(wanted: list[Record], base_offset: int = 0) -> list[Record]:
    return [Record(base_offset + i, r.timestamp, r.key, r.value, r.headers) for i, r in enumerate(wanted)]


@given(records, codecs, st.integers(0, 1 << 50))
def test_what_was_encoded_is_decoded(wanted: list[Record], codec: Compression, base_offset: int) -> None:
    batch = encode_batch(wanted, base_offset=base_offset, compression=codec)
    header = check(batch)
    assert header.max_timestamp == max(r.timestamp for r in wanted)
    assert list(decode_batches(batch)) == numbered(wanted, base_offset)


Builder = Callable[..., kp.DefaultRecordBatchBuilder | aio.DefaultRecordBatchBuilder]


@pytest.mark.parametrize("builder", [kp.DefaultRecordBatchBuilder, aio.DefaultRecordBatchBuilder])
@given(wanted=records, codec=codecs)
def test_batches_of_other_writers_are_read(builder: Builder, wanted: list[Record], codec: Compression) -> None:
    assume(builder is aio.DefaultRecordBatchBuilder or codec not in KAFKA_PYTHON_LACKS)
    their = builder(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=9,
        producer_epoch=1,
        base_sequence=5,
        batch_size=1 << 20,
    )
    for i, r in enumerate(wanted):
        their.append(i, timestamp=r.timestamp, key=r.key, value=r.value, headers=list(r.headers))
    batch = bytes(their.build())
    header = check(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 1, 5)
    assert decode_batch(batch, header) == numbered(wanted)


@pytest.mark.parametrize("reader", [kp.DefaultRecordBatch, aio.DefaultRecordBatch])
@given(wanted=records, codec=codecs)
def test_our_batches_are_read_by_others(
    reader: type[kp.DefaultRecordBatch], wanted: list[Record], codec: Compression
) -> None:
    assume(reader is aio.DefaultRecordBatch or codec not in KAFKA_PYTHON_LACKS)
    batch = encode_batch(wanted, base_offset=30, compression=codec, producer_id=9, producer_epoch=1, base_sequence=5)
    theirs = reader(batch)
    assert theirs.validate_crc()
    read = [Record(r.offset, r.timestamp, r.key, r.value, tuple(tuple(h) for h in r.headers)) for r in theirs]
    assert read == numbered(wanted, 30)


def test_a_cleaned_batch_keeps_its_records_offsets() -> None:
    kept = [Record(12, 1, b"a", b"1"), Record(17, 2, b"b", None)]
    batch = encode_batch(kept, base_offset=10, keep_offsets=True)
    assert check(batch).last_offset == 17
    assert list(decode_batches(batch)) == kept


@pytest.mark.parametrize("committed", [True, False])
def test_end_markers_are_control_records(committed: bool) -> None:
    marker = EndMarker(committed, coordinator_epoch=3)
    batch = encode_batch([marker.encode(1000)], producer_id=1, producer_epoch=0, transactional=True, control=True)
    assert list(decode_batches(batch)) == []
    (record,) = decode_batches(batch, control=True)
    assert EndMarker.decode(record) == marker


@given(st.binary(max_size=80))
def test_garbled_records_under_a_right_checksum_are_an_error_and_nothing_else(body: bytes) -> None:
    batch = bytearray(encode_batch([Record(-1, 0, None, body), Record(-1, 0, None, b"")]))
    batch[HEADER_SIZE : HEADER_SIZE + len(body)] = body
    seal(batch)
    with contextlib.suppress(RecordsError):
        list(decode_batches(batch))


def test_an_empty_batch_is_not_made() -> None:
    with pytest.raises(ValueError, match="at least one"):
        encode_batch([])


def test_a_record_that_ends_early_is_refused() -> None:
    batch = bytearray(encode_batch([Record(-1, 0, None, b"value")]))
    batch[HEADER_SIZE + 5] -= 2  # the value's length, so that one of its bytes is left over
    seal(batch)
    with pytest.raises(InvalidRecord):
        list(decode_batches(batch))
