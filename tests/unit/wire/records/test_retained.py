"""Batches that lose records keep everything else."""

import pytest

from millstream_wire.records import (
    Compression,
    InvalidRecord,
    Record,
    TimestampType,
    check,
    decode_batch,
    encode_batch,
    encoded_records,
    records_of,
    retain_header,
    retain_records,
)

RECORDS = [
    Record(100 + i, 1000 + i * 37 % 50, b"key %d" % i, None if i % 3 == 0 else b"v" * i, (("h", b"x"), ("n", None)))
    for i in range(10)
]


def encoded(**fields):
    batch = encode_batch(
        RECORDS,
        base_offset=100,
        leader_epoch=4,
        producer_id=7,
        producer_epoch=2,
        base_sequence=30,
        transactional=True,
        **fields,
    )
    header = check(batch)
    return header, records_of(batch, header, limit=1 << 20)


@pytest.mark.parametrize("compression", list(Compression))
@pytest.mark.parametrize("delete_horizon_ms", [None, 0, 1_700_000_000_000])
def test_what_is_kept_is_what_it_was(compression, delete_horizon_ms):
    header, payload = encoded(compression=compression)
    kept = [record for record in encoded_records(payload, header) if record.offset_delta in (1, 3, 8)]
    batch = retain_records(header, payload, kept, delete_horizon_ms=delete_horizon_ms)
    after = check(batch)
    assert decode_batch(batch, after) == [RECORDS[1], RECORDS[3], RECORDS[8]]
    assert (after.base_offset, after.last_offset, after.last_sequence) == (100, 109, 39)
    assert after.compression == compression
    assert after.is_transactional
    assert after.max_timestamp == max(RECORDS[i].timestamp for i in (1, 3, 8))
    assert after.has_delete_horizon == (delete_horizon_ms is not None)
    if delete_horizon_ms is not None:
        assert after.base_timestamp == delete_horizon_ms


def test_a_horizon_stays_when_more_goes():
    header, payload = encoded()
    batch = retain_records(header, payload, encoded_records(payload, header), delete_horizon_ms=5000)
    marked = check(batch)
    payload = records_of(batch, marked, limit=1 << 20)
    batch = retain_records(marked, payload, encoded_records(payload, marked)[3:4])
    after = check(batch)
    assert after.has_delete_horizon
    assert after.base_timestamp == 5000
    assert decode_batch(batch, after) == [RECORDS[3]]


def test_the_append_time_is_the_batchs_own():
    header, payload = encoded(timestamp_type=TimestampType.LOG_APPEND_TIME)
    batch = retain_records(header, payload, encoded_records(payload, header)[:1], delete_horizon_ms=5000)
    assert check(batch).max_timestamp == header.max_timestamp
    assert decode_batch(batch, check(batch))[0].timestamp == header.max_timestamp


def test_keys_and_tombstones_are_seen():
    header, payload = encoded()
    found = [(record.key, record.is_tombstone) for record in encoded_records(payload, header)]
    assert found == [(record.key, record.value is None) for record in RECORDS]


def test_a_bare_header_still_says_who_wrote_up_to_where():
    header, _ = encoded(compression=Compression.ZSTD)
    after = check(retain_header(header))
    assert (after.record_count, after.size, after.compression) == (0, 61, 0)
    assert (after.base_offset, after.last_offset, after.last_sequence) == (100, 109, 39)
    assert (after.producer_id, after.producer_epoch, after.leader_epoch) == (7, 2, 4)
    assert after.is_transactional
    assert after.max_timestamp == header.max_timestamp
    assert decode_batch(retain_header(header), after) == []


def test_records_that_are_not_what_they_claim_are_refused():
    header, payload = encoded()
    for torn in (payload[:-1], payload + b"\0", payload[:20]):
        with pytest.raises(InvalidRecord):
            encoded_records(torn, header)
