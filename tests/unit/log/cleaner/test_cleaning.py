"""What stays in a compacted log, scenario by scenario."""

import pytest

from millstream_log import CorruptFile
from millstream_wire.records import Compression, check

HOUR_MS = 3_600_000


def test_the_latest_record_of_each_key_stays_at_its_offset(compacted):
    log = compacted()
    log.append((b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    log.put(b"c" * 40, b"1")
    log.put(b"c" * 40, b"2")
    log.roll()
    log.put(b"b", b"2")
    assert log.clean()
    assert log.records() == [(1, b"b", b"1"), (2, b"a", b"2"), (4, b"c" * 40, b"2"), (5, b"b", b"2")]
    assert log.first_dirty_offset == 5
    assert log.log.log_end_offset == 6


def test_what_was_clean_loses_to_what_came_later(compacted):
    log = compacted()
    for value in range(4):
        log.append((b"a", b"%d" % value), (b"key %d" % value, b""))
        log.roll()
        assert log.clean()
    assert log.records() == [
        (1, b"key 0", b""),
        (3, b"key 1", b""),
        (5, b"key 2", b""),
        (6, b"a", b"3"),
        (7, b"key 3", b""),
    ]
    assert len(log.log.segments) == 2, "small segments become one"


@pytest.mark.parametrize("compression", list(Compression))
def test_batches_keep_their_codec(compacted, compression):
    log = compacted()
    log.append(*((b"key %d" % (i % 7), b"value %d" % i * 20) for i in range(50)), compression=compression)
    log.roll()
    assert log.clean()
    assert log.offsets() == [43, 44, 45, 46, 47, 48, 49]
    (batch,) = log.batches()
    assert (check(batch).compression, check(batch).last_offset) == (compression, 49)


def test_tombstones_stay_for_their_time_and_then_go(compacted):
    log = compacted(delete_retention_ms=HOUR_MS)
    log.put(b"a", b"1")
    log.put(b"a", None)
    log.put(b"b", b"1")
    log.roll()
    assert log.clean()
    assert log.records() == [(1, b"a", None), (2, b"b", b"1")]
    header = check(log.batches()[0])
    assert (header.has_delete_horizon, header.base_timestamp) == (True, log.now_ms + HOUR_MS)
    assert header.max_timestamp == log.now_ms

    def clean_again():
        log.put(b"c", b"")
        log.roll()
        assert log.clean()

    log.now_ms += HOUR_MS - 1
    clean_again()
    assert log.offsets()[:2] == [1, 2]
    log.now_ms += 1
    clean_again()
    assert log.records()[0] == (2, b"b", b"1")


def test_records_without_a_key_go(compacted):
    log = compacted()
    log.append((None, b"from before the topic was compacted"), (b"a", b"1"))
    log.roll()
    assert log.clean()
    assert log.offsets() == [1]


def test_what_is_young_or_uncommitted_stays_as_it_is(compacted):
    log = compacted(min_lag_ms=HOUR_MS)
    log.put(b"a", b"1")
    log.put(b"a", b"2")
    log.roll()
    log.put(b"a", b"3")
    assert not log.clean()
    log.now_ms += HOUR_MS + 1
    assert log.clean()
    assert log.offsets() == [1, 2]


def test_a_producers_last_sequence_outlives_its_records(compacted):
    log = compacted()
    log.put(b"a", b"1", producer_id=7)
    log.put(b"a", b"2", producer_id=7)
    log.put(b"a", b"3", producer_id=8)
    log.put(b"a", b"4")
    log.roll()
    assert log.clean()
    assert log.offsets() == [3]
    headers = [check(batch) for batch in log.batches()]
    assert [(h.base_offset, h.record_count, h.producer_id, h.base_sequence) for h in headers[:2]] == [
        (1, 0, 7, 1),
        (2, 0, 8, 0),
    ]
    for path in log.directory.glob("*.snapshot"):
        path.unlink()
    log.reopen()
    assert log.log.producer(7).last_sequence == 1
    assert log.put(b"b", b"", producer_id=7) == 4


def test_a_reader_at_the_end_of_what_is_cleaned_finds_its_way(compacted):
    log = compacted()
    log.put(b"a", b"1")
    log.roll()
    log.put(b"a", None)
    log.roll()
    log.now_ms += 1
    for _ in range(2):
        log.put(b"a", None)
        log.roll()
        log.clean()
        log.now_ms += 10 * 24 * HOUR_MS
    last = check(log.batches()[-1])
    assert last.next_offset == log.log.log_end_offset


def test_aborted_records_go_and_hide_nothing(compacted):
    log = compacted(delete_retention_ms=HOUR_MS)
    log.put(b"a", b"good")
    log.put(b"a", b"bad", producer_id=7, transactional=True)
    log.put(b"b", b"good", producer_id=8, transactional=True)
    log.end_transaction(7, committed=False)
    log.end_transaction(8, committed=True)
    log.put(b"c", b"", producer_id=7, transactional=True)
    log.put(b"d", b"", producer_id=8, transactional=True)
    log.roll()
    assert not log.clean(), "a transaction is open"
    log.end_transaction(7, committed=True)
    log.end_transaction(8, committed=True)
    log.roll()
    assert log.clean()
    assert log.records() == [(0, b"a", b"good"), (2, b"b", b"good"), (5, b"c", b""), (6, b"d", b"")]
    markers = [h.base_offset for h in map(check, log.batches()) if h.is_control]
    assert markers == [3, 4, 7, 8], "their transactions were still there to be read"


def test_markers_go_once_their_transactions_are_gone_for_long_enough(compacted):
    log = compacted(delete_retention_ms=HOUR_MS)

    def markers():
        return [(h.base_offset, h.has_delete_horizon) for h in map(check, log.batches()) if h.is_control]

    def clean():
        log.put(b"z", b"")
        log.roll()
        assert log.clean()

    log.put(b"a", b"bad", producer_id=7, transactional=True)
    log.end_transaction(7, committed=False)
    log.put(b"a", b"1", producer_id=8, transactional=True)
    log.end_transaction(8, committed=True)
    log.put(b"a", b"2")
    log.put(b"x", b"", producer_id=7)
    log.put(b"y", b"", producer_id=8)
    clean()
    assert markers() == [(1, False), (3, False)]
    clean()
    assert markers() == [(1, True), (3, True)]
    log.now_ms += HOUR_MS
    clean()
    assert markers() == []
    assert log.log.aborted_transactions(0, 100) == []


def test_the_marker_of_a_producer_that_wrote_nothing_else_stays(compacted):
    log = compacted(delete_retention_ms=0)
    log.end_transaction(7, committed=False)
    for _ in range(4):
        log.put(b"a", b"")
        log.roll()
        assert log.clean()
        log.now_ms += HOUR_MS
    assert [h.base_offset for h in map(check, log.batches()) if h.is_control] == [0]


def test_with_little_memory_a_log_is_cleaned_part_by_part(compacted):
    log = compacted()
    for i in range(60):
        log.put(b"key %d" % (i % 20), b"%d" % i)
    log.roll()
    rounds = 0
    while log.first_dirty_offset < log.log.log_end_offset:
        assert log.clean(keys_bytes_max=2000)
        rounds += 1
    assert rounds == 6, "ten keys at a time"
    assert log.offsets() == list(range(40, 60))


def test_groups_stay_within_a_segments_size(compacted):
    log = compacted(segment_bytes=1000)
    for i in range(60):
        log.put(b"key %d" % i, b"x" * 50)
    log.roll()
    assert log.clean()
    assert log.offsets() == list(range(60))
    assert all(segment.size <= 1000 for segment in log.log.segments)


def test_a_corrupt_segment_is_refused_and_left_alone(compacted):
    log = compacted()
    for _ in range(20):
        log.put(b"a", b"x" * 50)
    log.roll()
    path = log.log.segments[0].log_path
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptFile, match="checksum"):
        log.clean()
    assert path.read_bytes() == data


def test_a_cleaning_gives_way_to_deletion_and_truncation(compacted):
    log = compacted()
    for _ in range(3):
        log.put(b"a", b"")
        log.roll()
    assert not log.clean(before_swap=lambda _: log.log.doom_segments(1))
    assert log.offsets() == [1, 2]
    assert not log.clean(before_swap=lambda _: log.log.truncate_to(2, now_ms=0))
    assert log.offsets() == [1]
    assert not list(log.directory.glob("*.cleaned"))
    log.log.check()


def test_readers_in_flight_keep_the_bytes_they_were_promised(compacted):
    log = compacted()
    log.append((b"a", b"1"), (b"b", b"1"))
    log.put(b"a", b"2")
    log.roll()
    read = log.log.read(0, 1000)
    before = read.slice.read()
    assert log.clean()
    assert read.slice.read() == before
    assert log.offsets() == [1, 2]


def test_lookups_by_time_and_offset_work_in_what_is_left(compacted):
    log = compacted()
    for i in range(50):
        log.now_ms += 10
        log.put(b"key %d" % (i % 5), b"x" * 50)
    log.roll()
    assert log.clean()
    for again in range(2):
        assert log.offsets() == [45, 46, 47, 48, 49], again
        assert log.log.offset_for_timestamp(0).offset == 45
        assert log.log.offset_for_timestamp(log.now_ms).offset == 49
        assert log.log.offset_of_max_timestamp().offset == 49
        assert log.log.read(10, 100).next_offset == 46
        log.reopen(clean=True)
