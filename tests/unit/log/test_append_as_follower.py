"""Batches that a leader stamped: appended as they are, neighbours in one write, and what they say of transactions."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from millstream_log import Log, LogConfig, OffsetOutOfRange, StorageError
from millstream_log.disk import Disk
from millstream_wire.records import EndMarker, Record, check, encode_batch, split, stamp

PRODUCER = {"producer_id": 7, "producer_epoch": 0}


class CountingDisk(Disk):
    """Counts reads and writes, and refuses those that would leave more than `room` bytes written."""

    def __init__(self) -> None:
        self.reads = 0
        self.writes = 0
        self.room = 1 << 30

    def pread(self, fd: int, length: int, position: int) -> bytes:
        self.reads += 1
        return super().pread(fd, length, position)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if len(data) > self.room:
            raise OSError(28, "no space left")
        self.room -= len(data)
        self.writes += 1
        return super().pwrite(fd, data, position)


def batch(base_offset: int, value: str = "v", *, epoch: int = 3, timestamp: int = 1_000, **options: object) -> bytes:
    content = encode_batch([Record(offset=0, timestamp=timestamp, key=None, value=value.encode())], **options)
    return bytes(stamp(content, base_offset, epoch))


def marker(base_offset: int, *, committed: bool, epoch: int = 3) -> bytes:
    record = EndMarker(committed=committed, coordinator_epoch=1).encode(1_000)
    content = encode_batch([record], transactional=True, control=True, **PRODUCER)
    return bytes(stamp(content, base_offset, epoch))


def transactional(base_offset: int, sequence: int) -> bytes:
    return batch(base_offset, transactional=True, base_sequence=sequence, **PRODUCER)


@pytest.fixture
def disk() -> CountingDisk:
    return CountingDisk()


@pytest.fixture
def open_log(tmp_path: Path, disk: CountingDisk) -> Callable[..., Log]:
    def opened(**config: int) -> Log:
        return Log.open(tmp_path / "p-0", LogConfig(**config), now_ms=0, disk=disk)

    return opened


def append(log: Log, batches: Sequence[bytes]) -> tuple[int, list[tuple[int, int]]]:
    copied = log.append_all_as_follower(memoryview(b"".join(batches)), [check(each) for each in batches], now_ms=0)
    assert copied.size == sum(len(each) for each in batches[: copied.batches])
    log.check()
    return copied.batches, copied.ended


def content(log: Log) -> list[bytes]:
    found: list[bytes] = []
    offset = int(log.log_start_offset)
    while (read := log.read(offset, 1 << 20)) is not None:
        found += [bytes(each) for each in split(read.slice.read())]
        offset = read.next_offset
    return found


def test_many_batches_are_one_write(open_log: Callable[..., Log], disk: CountingDisk) -> None:
    log = open_log()
    append(log, [batch(0)])
    batches = [batch(offset) for offset in range(1, 50)]
    before = disk.writes
    assert append(log, batches) == (49, [])
    assert disk.writes == before + 1
    assert content(log) == [batch(0), *batches]


def test_segments_and_epochs_begin_where_they_would_one_by_one(tmp_path: Path) -> None:
    batches = [batch(offset, "v" * (offset % 7 * 20), epoch=offset // 9, timestamp=offset * 10) for offset in range(80)]
    config = LogConfig(segment_bytes=700, segment_ms=90, index_interval_bytes=100)
    one = Log.open(tmp_path / "one-0", config, now_ms=0)
    for each in batches:
        one.append_as_follower(each, check(each), now_ms=0)
    many = Log.open(tmp_path / "many-0", config, now_ms=0)
    append(many, batches[:30])
    append(many, batches[30:])
    assert [each.base_offset for each in many.segments] == [each.base_offset for each in one.segments]
    assert many.epochs == one.epochs
    assert content(many) == content(one) == batches


def test_a_gap_is_noted_and_copied(open_log: Callable[..., Log]) -> None:
    log = open_log()
    assert append(log, [batch(0), batch(1), batch(5), batch(6), batch(9)]) == (5, [])
    assert log.has_gaps
    assert append(log, [batch(20), batch(22), batch(23)]) == (3, [])
    assert log.log_end_offset == 24


def test_what_is_there_is_not_appended_again(open_log: Callable[..., Log]) -> None:
    log = open_log()
    append(log, [batch(0), batch(1)])
    with pytest.raises(OffsetOutOfRange):
        append(log, [batch(1), batch(2), batch(3)])


def test_a_disk_that_refuses_keeps_what_came_before(open_log: Callable[..., Log], disk: CountingDisk) -> None:
    log = open_log(segment_bytes=200)
    disk.room = 600
    batches = [batch(offset) for offset in range(30)]
    count, _ = append(log, batches)
    assert 0 < count < 30
    assert content(log) == batches[:count]
    with pytest.raises(StorageError):
        append(log, batches[count:])
    disk.room = 1 << 20
    assert append(log, batches[count:]) == (30 - count, [])
    assert content(log) == batches


def test_an_epoch_whose_first_batch_the_disk_refuses_leaves_no_trace(
    open_log: Callable[..., Log], disk: CountingDisk
) -> None:
    """Simulation seed 2053."""
    log = open_log()
    append(log, [batch(0, epoch=3)])
    disk.room = 0
    with pytest.raises(StorageError):
        append(log, [batch(1, epoch=5)])
    assert log.epochs == ((3, 0),)
    disk.room = 1 << 20
    append(log, [batch(1, epoch=6), batch(2, epoch=6)])
    assert log.epochs == ((3, 0), (6, 1))
    log.close()
    assert open_log().epochs == ((3, 0), (6, 1))


def test_transactions_that_end_are_told_with_their_beginning(open_log: Callable[..., Log]) -> None:
    log = open_log()
    batches = [batch(0), transactional(1, 0), transactional(2, 1), marker(3, committed=True), transactional(4, 2)]
    assert append(log, batches) == (5, [(3, 1)])
    assert append(log, [marker(5, committed=False), marker(6, committed=True)]) == (2, [(5, 4)])
    assert [each.first_offset for each in log.aborted_transactions(0, 7)] == [4]


def test_a_log_that_is_opened_finds_what_ended_last(open_log: Callable[..., Log]) -> None:
    log = open_log(segment_bytes=200)
    append(log, [transactional(0, 0), marker(1, committed=True), transactional(2, 1), batch(3), transactional(4, 2)])
    append(log, [batch(5), marker(6, committed=False), batch(7), transactional(8, 3)])
    assert log.ended_transactions(0, now_ms=0) == [(1, 0), (6, 2)]
    assert log.ended_transactions(3, now_ms=0) == [(6, 2)]
    assert log.ended_transactions(7, now_ms=0) == []
    log.close()
    again = open_log(segment_bytes=200)
    assert again.ended_transactions(2, now_ms=0) == [(6, 2)]


def test_a_log_without_transactions_is_not_read(open_log: Callable[..., Log], disk: CountingDisk) -> None:
    log = open_log()
    append(log, [batch(0), batch(1, base_sequence=0, **PRODUCER)])
    before = disk.reads
    assert log.ended_transactions(0, now_ms=0) == []
    assert disk.reads == before
