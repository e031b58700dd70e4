import os
import resource
from pathlib import Path

import pytest

from millstream_log import Log, LogConfig, MessageTimestampType, OffsetOutOfRange, OutOfOrderSequence, StorageError
from millstream_log.errors import InvalidProducerEpoch
from millstream_wire.records import EndMarker, Record, check, decode_batches, encode_batch

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)
START_MS = 1_700_000_000_000


def fill(log: Log, make, batches: int, **fields) -> None:
    for i in range(batches):
        log.append(*make(2, timestamp=START_MS + 10 * i, **fields), leader_epoch=0, now_ms=START_MS)
        log.check()


def everything(log: Log, max_bytes: int = 1 << 20) -> list[Record]:
    records: list[Record] = []
    offset = log.log_start_offset
    while (read := log.read(offset, max_bytes)) is not None:
        batch = list(decode_batches(read.slice.read()))
        assert batch[0].offset <= offset <= batch[-1].offset
        assert batch[-1].offset + 1 == read.next_offset
        records += batch
        offset = read.next_offset
    assert offset == log.log_end_offset
    return records


def test_offsets_count_on_over_segments(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 50)
    assert log.log_end_offset == 100
    assert len(log.segments) > 3
    for max_bytes in (1, 500, 1 << 20):
        assert [record.offset for record in everything(log, max_bytes)] == list(range(100))


def test_a_read_returns_whole_batches_within_its_bound(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, LogConfig(index_interval_bytes=300), now_ms=0)
    fill(log, make, 50)
    size = make(2)[1].size
    for offset in range(100):
        for batches in (0, 1, 2, 7):
            read = log.read(offset, batches * size + 3, min_one=False)
            if batches == 0:
                assert read is None
                continue
            assert read is not None
            assert len(read.slice) == min(batches, (101 - offset) // 2 if offset % 2 else (100 - offset) // 2) * size
            assert next(iter(decode_batches(read.slice.read()))).offset == offset - offset % 2
        assert len(log.read(offset, 0, min_one=True).slice) == size


def test_a_read_stops_before_the_end_it_is_given(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 20)
    for end in range(2, 40, 2):
        read = log.read(end - 2, 1 << 20, end_offset=end)
        assert read.next_offset == end
        assert log.read(end, 1 << 20, end_offset=end) is None


def test_reading_outside_is_an_error(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 2)
    assert log.read(4, 100) is None
    for offset in (-1, 5):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, 100)


def test_a_clean_close_needs_no_recovery_and_forgets_nothing(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 30)
    before = everything(log)
    log.close()
    again = Log.open(tmp_path, SMALL, now_ms=0, clean=True, recovery_point=log.recovery_point)
    again.check()
    assert everything(again) == before
    assert again.epochs == ((0, 0),)
    fill(again, make, 30)
    assert again.log_end_offset == 120


def test_segments_roll_by_the_records_clock(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, LogConfig(segment_ms=1000), now_ms=0)
    for timestamp in (START_MS, START_MS + 1000, START_MS + 1001, START_MS + 1500):
        log.append(*make(timestamp=timestamp), leader_epoch=0, now_ms=START_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_segments_roll_when_an_index_is_full(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, LogConfig(segment_index_bytes=120, index_interval_bytes=1), now_ms=0)
    fill(log, make, 60)
    assert len(log.segments) > 4
    assert all(segment.times.path.stat().st_size <= 120 for segment in log.segments[:-1])


def test_log_append_time_is_the_brokers(tmp_path: Path, make) -> None:
    config = LogConfig(message_timestamp_type=MessageTimestampType.LOG_APPEND_TIME)
    log = Log.open(tmp_path, config, now_ms=0)
    result = log.append(*make(2), leader_epoch=0, now_ms=77)
    assert result.log_append_time == 77
    assert [record.timestamp for record in everything(log)] == [77, 77]


def test_records_are_found_by_time(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 50)
    for i in range(50):
        for wanted, offset in ((10 * i, 2 * i), (10 * i + 1, 2 * i + 1)):
            found = log.offset_for_timestamp(START_MS + wanted)
            assert (found.timestamp, found.offset) == (START_MS + wanted, offset)
        between = log.offset_for_timestamp(START_MS + 10 * i + 2)
        assert (between.offset if between else 100) == 2 * i + 2
    assert log.offset_for_timestamp(0).offset == 0
    assert log.offset_of_max_timestamp().offset == 99
    log.advance_start(50)
    assert log.offset_for_timestamp(0).offset == 50


def test_a_repeated_batch_is_answered_with_its_first_place(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    for sequence in range(0, 14, 2):
        fill(log, make, 1, producer_id=5, producer_epoch=0, base_sequence=sequence)
    result = log.append(*make(2, producer_id=5, producer_epoch=0, base_sequence=6), leader_epoch=0, now_ms=0)
    assert (result.base_offset, result.last_offset, result.is_duplicate) == (6, 7, True)
    with pytest.raises(OutOfOrderSequence):
        log.append(*make(2, producer_id=5, producer_epoch=0, base_sequence=16), leader_epoch=0, now_ms=0)
    assert log.log_end_offset == 14


@pytest.mark.parametrize("clean", [True, False])
def test_producers_are_known_after_a_restart(tmp_path: Path, make, clean: bool) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    for sequence in range(0, 60, 2):
        fill(log, make, 1, producer_id=5, producer_epoch=0, base_sequence=sequence)
    log.close() if clean else log.abandon()
    log = Log.open(tmp_path, SMALL, now_ms=0, clean=clean)
    result = log.append(*make(2, producer_id=5, producer_epoch=0, base_sequence=58), leader_epoch=0, now_ms=0)
    assert (result.base_offset, result.is_duplicate) == (58, True)
    assert (
        log.append(*make(2, producer_id=5, producer_epoch=0, base_sequence=60), leader_epoch=0, now_ms=0).base_offset
        == 60
    )


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("batches", range(20, 30))
def test_all_that_was_in_flight_is_known_after_a_restart(tmp_path: Path, make, batches: int, clean: bool) -> None:
    """Found by the simulation (its seeds 50 and 61): of five repetitions only the last one was recognised."""
    log = Log.open(tmp_path, SMALL, now_ms=0)
    for at in range(batches):
        fill(log, make, 1, producer_id=5, producer_epoch=0, base_sequence=2 * at)
        fill(log, make, 1, producer_id=6, producer_epoch=at, base_sequence=0)
    log.close() if clean else log.abandon()
    log = Log.open(tmp_path, SMALL, now_ms=0, clean=clean)
    for at in range(batches - 5, batches):
        again = make(2, producer_id=5, producer_epoch=0, base_sequence=2 * at)
        result = log.append(*again, leader_epoch=0, now_ms=0)
        assert (result.base_offset, result.is_duplicate) == (4 * at, True)
    # The other one has sent the same sequences under each epoch: only the latest is its last batch.
    again = make(2, producer_id=6, producer_epoch=batches - 1, base_sequence=0)
    assert log.append(*again, leader_epoch=0, now_ms=0).base_offset == 4 * batches - 2
    with pytest.raises(InvalidProducerEpoch):
        log.append(*make(2, producer_id=6, producer_epoch=batches - 2, base_sequence=0), leader_epoch=0, now_ms=0)
    following = make(2, producer_id=5, producer_epoch=0, base_sequence=2 * batches)
    assert not log.append(*following, leader_epoch=0, now_ms=0).is_duplicate


def test_a_transaction_holds_the_stable_offset_until_its_marker(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 1)
    fill(log, make, 1, producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    assert log.first_unstable_offset == 2
    log.abandon()
    log = Log.open(tmp_path, SMALL, now_ms=0)
    assert log.first_unstable_offset == 2
    marker = EndMarker(committed=True, coordinator_epoch=0).encode(START_MS)
    batch = bytearray(encode_batch([marker], producer_id=5, producer_epoch=0, transactional=True, control=True))
    log.append_control(batch, check(batch), leader_epoch=0, now_ms=0)
    assert log.first_unstable_offset is None


def test_leader_epochs_follow_the_batches(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    for epoch in (3, 3, 5, 9):
        log.append(*make(2), leader_epoch=epoch, now_ms=0)
    assert log.epochs == ((3, 0), (5, 4), (9, 6))
    assert log.end_of_epoch(3) == (3, 4)
    assert log.end_of_epoch(6) == (5, 6)
    assert log.end_of_epoch(9) == (9, 8)
    assert log.end_of_epoch(10) == (-1, -1)
    (tmp_path / "leader-epoch-checkpoint").write_text("garbage")
    log.abandon()
    assert Log.open(tmp_path, SMALL, now_ms=0).epochs == ((3, 0), (5, 4), (9, 6))


@pytest.mark.parametrize("offset", [0, 1, 2, 30, 31, 99])
def test_truncation_keeps_what_was_before_and_forgets_what_was_after(tmp_path: Path, make, offset: int) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    for i in range(50):
        batch, header = make(2, timestamp=START_MS + i, producer_id=1, producer_epoch=0, base_sequence=2 * i)
        log.append(batch, header, leader_epoch=i // 10, now_ms=0)
    in_flight = log.read(98, 1000).slice
    offered = in_flight.read()
    before = everything(log)
    log.truncate_to(offset, now_ms=0)
    log.check()
    end = offset - offset % 2
    assert log.log_end_offset == end
    assert everything(log) == before[:end]
    assert all(start < end for _, start in log.epochs)
    result = log.append(
        *make(2, producer_id=1, producer_epoch=0, base_sequence=end, value=b"other"), leader_epoch=7, now_ms=0
    )
    assert result.base_offset == end
    log.check()
    assert offered.startswith(in_flight.read())  # it may be short, never another one


def test_truncating_fully_starts_anew(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 20)
    log.truncate_fully(700, now_ms=0)
    log.check()
    assert (log.log_start_offset, log.log_end_offset, log.epochs) == (700, 700, ())
    fill(log, make, 1)
    assert [record.offset for record in everything(log)] == [700, 701]


def test_old_segments_go_while_their_readers_stay(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 50)
    held = log.read(0, 1000).slice
    bytes_before = held.read()
    doomed = log.doom_segments(2)
    log.check()
    assert log.log_start_offset == log.segments[0].base_offset > 0
    assert held.read() == bytes_before
    old = {path for path in tmp_path.glob("0*.*") if int(path.name[:20]) < log.log_start_offset}
    assert old == set(doomed)
    assert {path.suffix for path in doomed} == {".deleted"}
    assert [path.name[20:] for path in doomed if ".log" in path.name] == [".log.deleted"] * 2
    log.abandon()
    assert Log.open(tmp_path, SMALL, now_ms=0).log_start_offset == log.log_start_offset
    assert not any(path.exists() for path in doomed)


def test_an_emptied_log_remembers_its_end(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, SMALL, now_ms=0)
    fill(log, make, 5)
    log.roll(0)
    log.doom_segments(len(log.segments) - 1)
    log.abandon()
    log = Log.open(tmp_path, SMALL, now_ms=0)
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path, make) -> None:
    """A limit on the size of files stands in for the disk: writes come short, then fail."""
    log = Log.open(tmp_path, LogConfig(index_interval_bytes=100), now_ms=0)
    fill(log, make, 20)
    before = everything(log)
    batch, header = make(1, value=bytes(5000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.size + 1000, hard))
    try:
        for _ in range(3):
            with pytest.raises(StorageError):
                log.append(batch, header, leader_epoch=0, now_ms=0)
            log.check()
        fill(log, make, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert log.append(batch, header, leader_epoch=0, now_ms=0).base_offset == 42
    assert everything(log)[:40] == before
    log.abandon()
    assert len(everything(Log.open(tmp_path, SMALL, now_ms=0))) == 43


def test_flushing_moves_the_recovery_point(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, LogConfig(flush_messages=10), now_ms=0)
    fill(log, make, 4)
    assert log.recovery_point == 0
    fill(log, make, 1)
    assert log.recovery_point == 10
    fill(log, make, 1)
    flush = log.start_flush()
    fill(log, make, 1)
    flush.perform()
    log.finish_flush(flush)
    assert log.recovery_point == 12
    overtaken = log.start_flush()
    log.truncate_to(4, now_ms=0)
    log.finish_flush(overtaken)
    assert log.recovery_point == 4


def test_after_a_flush_that_failed_no_other_moves_the_recovery_point(tmp_path: Path, make) -> None:
    """The kernel tells of an error once: the next flush would find nothing wrong, and what was lost is not on the disk."""
    log = Log.open(tmp_path, LogConfig(), now_ms=0)
    fill(log, make, 4)
    under_way = log.start_flush()
    log.fail(OSError("input/output error"))
    with pytest.raises(StorageError, match="an earlier flush failed"):
        under_way.perform()
    log.finish_flush(under_way)
    assert log.recovery_point == 0
    for flush in (log.start_flush, log.flush, log.close):
        with pytest.raises(StorageError, match="an earlier flush failed"):
            flush()
    assert log.recovery_point == 0


def test_an_idle_log_holds_no_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    logs = [Log.open(tmp_path / str(i), LogConfig(), now_ms=0) for i in range(20)]
    assert len(os.listdir("/proc/self/fd")) == before
    assert all(log.log_end_offset == 0 for log in logs)
