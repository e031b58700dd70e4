"""What a flush promises when others run beside it, when it fails, and when the process ends right after it."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream_log import Log, LogConfig, StorageError, writing
from millstream_log.disk import Disk
from millstream_wire.records import BatchHeader, EndMarker, Record, check, encode_batch

FLUSH_EACH = LogConfig(flush_messages=1)


class FailingOnce(Disk):
    """Tells the first flush of a file that data was lost, and no other one, as the kernel does."""

    def __init__(self) -> None:
        self.fails = True

    def fdatasync(self, fd: int) -> None:
        if self.fails:
            self.fails = False
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fdatasync(fd)


class Noting(Disk):
    """Knows which files and directories were brought to the disk."""

    def __init__(self) -> None:
        self.synced: list[Path] = []

    def fdatasync(self, fd: int) -> None:
        self.synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")))
        super().fdatasync(fd)

    def sync_directory(self, directory: Path) -> None:
        self.synced.append(directory)
        super().sync_directory(directory)


def marker(producer_id: int, *, committed: bool) -> tuple[bytearray, BatchHeader]:
    record = EndMarker(committed=committed, coordinator_epoch=0).encode(0)
    batch = bytearray(
        encode_batch([record], producer_id=producer_id, producer_epoch=0, transactional=True, control=True)
    )
    return batch, check(batch)


# ---- a flush as part of an append, and the snapshot that it stores ----


@pytest.fixture
def storing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each flush stores a snapshot of the producers, however little a restart would have to read."""
    monkeypatch.setattr(writing, "REPLAYED_BYTES", 0)


def killed_and_opened(log: Log) -> Log:
    log.abandon()
    return Log.open(log.directory, FLUSH_EACH, now_ms=0, recovery_point=log.recovery_point)


@pytest.mark.usefixtures("storing")
def test_a_batch_that_was_flushed_as_it_came_is_known_after_a_kill(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, FLUSH_EACH, now_ms=0)
    batch, header = make(producer_id=7, producer_epoch=0, base_sequence=0)
    sent_again = bytearray(batch)
    appended = log.append(batch, header, leader_epoch=0, now_ms=0)
    log = killed_and_opened(log)
    again = log.append(sent_again, header, leader_epoch=0, now_ms=0)
    assert (again.is_duplicate, again.base_offset) == (True, appended.base_offset)


@pytest.mark.usefixtures("storing")
def test_a_transaction_whose_first_batch_was_flushed_as_it_came_is_open_after_a_kill(
    tmp_path: Path, make: Callable
) -> None:
    log = Log.open(tmp_path, FLUSH_EACH, now_ms=0)
    batch, header = make(producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.append(batch, header, leader_epoch=0, now_ms=0)
    log = killed_and_opened(log)
    assert log.first_unstable_offset == 0
    log.append_control(*marker(9, committed=False), leader_epoch=0, now_ms=0)
    assert [each.first_offset for each in log.aborted_transactions(0, log.log_end_offset)] == [0]


@pytest.mark.usefixtures("storing")
def test_a_transaction_whose_marker_was_flushed_as_it_came_is_ended_after_a_kill(
    tmp_path: Path, make: Callable
) -> None:
    log = Log.open(tmp_path, FLUSH_EACH, now_ms=0)
    batch, header = make(producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.append(batch, header, leader_epoch=0, now_ms=0)
    log.append_control(*marker(9, committed=True), leader_epoch=0, now_ms=0)
    assert killed_and_opened(log).first_unstable_offset is None


class WithoutSnapshots(Disk):
    """Finds no room for the snapshots of producers."""

    def rename(self, source: Path, target: Path) -> None:
        if target.suffix == ".snapshot":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().rename(source, target)


@pytest.mark.usefixtures("storing")
def test_what_is_flushed_is_appended_although_its_snapshot_is_not_stored(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, FLUSH_EACH, now_ms=0, disk=WithoutSnapshots())
    for sequence in range(2):
        batch, header = make(producer_id=7, producer_epoch=0, base_sequence=sequence)
        assert log.append(batch, header, leader_epoch=0, now_ms=0).base_offset == sequence
    assert log.recovery_point == log.log_end_offset == 2


# ---- flushes that fail ----


def test_what_was_appended_and_not_flushed_is_no_duplicate_when_it_comes_again(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, FLUSH_EACH, now_ms=0, disk=FailingOnce())
    batch, header = make(producer_id=7, producer_epoch=0, base_sequence=0)
    again = bytearray(batch)
    with pytest.raises(StorageError):
        log.append(batch, header, leader_epoch=0, now_ms=0)
    with pytest.raises(StorageError, match="an earlier flush failed"):
        log.append(again, header, leader_epoch=0, now_ms=0)


def test_a_failed_log_takes_no_marker_and_nothing_from_its_leader(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, FLUSH_EACH, now_ms=0, disk=FailingOnce())
    with pytest.raises(StorageError):
        log.append(*make(), leader_epoch=0, now_ms=0)
    with pytest.raises(StorageError, match="an earlier flush failed"):
        log.append_control(*marker(9, committed=True), leader_epoch=0, now_ms=0)
    batch = bytearray(encode_batch([EndMarker(committed=True, coordinator_epoch=0).encode(0)], base_offset=5))
    with pytest.raises(StorageError, match="an earlier flush failed"):
        log.append_as_follower(batch, check(batch), now_ms=0)


def test_a_flush_that_begins_after_another_one_failed_achieves_nothing(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, LogConfig(), now_ms=0, disk=FailingOnce())
    log.append(*make(), leader_epoch=0, now_ms=0)
    first, second = log.start_flush(), log.start_flush()
    with pytest.raises(OSError, match="Input/output"):
        first.perform()
    with pytest.raises(StorageError, match="an earlier flush failed"):
        second.perform()
    log.finish_flush(second)
    assert log.recovery_point == 0


def test_a_flush_that_ended_well_counts_for_nothing_once_another_one_failed(tmp_path: Path, make: Callable) -> None:
    disk = FailingOnce()
    disk.fails = False
    log = Log.open(tmp_path, LogConfig(), now_ms=0, disk=disk)
    log.append(*make(), leader_epoch=0, now_ms=0)
    first, second = log.start_flush(), log.start_flush()
    first.perform()
    disk.fails = True
    with pytest.raises(OSError, match="Input/output"):
        second.perform()
    log.finish_flush(first)
    assert log.recovery_point == 0


# ---- names and epochs ----


def test_a_segment_that_is_rolled_during_a_flush_gets_its_name_to_the_disk_with_the_next(
    tmp_path: Path, make: Callable
) -> None:
    disk = Noting()
    log = Log.open(tmp_path, LogConfig(), now_ms=0, disk=disk)
    log.append(*make(), leader_epoch=0, now_ms=0)
    flush = log.start_flush()
    flush.perform()
    log.roll(0)
    log.finish_flush(flush)
    disk.synced.clear()
    log.flush()
    assert tmp_path in disk.synced
    disk.synced.clear()
    log.flush()
    assert disk.synced == []


def test_a_new_leader_epoch_is_on_the_disk_no_later_than_its_records(tmp_path: Path, make: Callable) -> None:
    disk = Noting()
    log = Log.open(tmp_path, LogConfig(), now_ms=0, disk=disk)
    log.append(*make(), leader_epoch=0, now_ms=0)
    log.flush()
    log.append(*make(), leader_epoch=1, now_ms=0)
    disk.synced.clear()
    log.flush()
    assert tmp_path / "leader-epoch-checkpoint" in disk.synced
    assert tmp_path in disk.synced


def test_epochs_behind_the_recovery_point_are_asked_of_the_batches(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, LogConfig(), now_ms=0)
    log.append(*make(), leader_epoch=0, now_ms=0)
    log.flush()
    before = (tmp_path / "leader-epoch-checkpoint").read_bytes()
    log.append(*make(), leader_epoch=3, now_ms=0)
    log.roll(0)  # stores a snapshot of the producers: what comes before it is not replayed
    log.abandon()
    (tmp_path / "leader-epoch-checkpoint").write_bytes(before)  # the newer one did not get to the disk
    log = Log.open(tmp_path, LogConfig(), now_ms=0, recovery_point=log.recovery_point)
    assert log.epochs == ((0, 0), (3, 1))


# ---- memory that is ahead of the disk ----


class Forgetful(Disk):
    """Writes that memory took and the disk never got, until somebody asks what the disk really has."""

    def __init__(self, lost: Path, flushed_size: int) -> None:
        self._lost = lost
        self._flushed_size = flushed_size

    def forget(self, fd: int, position: int) -> None:
        if Path(os.readlink(f"/proc/self/fd/{fd}")) == self._lost and position <= self._flushed_size:
            os.pwrite(fd, bytes(os.fstat(fd).st_size - self._flushed_size), self._flushed_size)


def test_after_a_failed_flush_and_a_restart_the_disk_is_asked_and_not_memory(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, LogConfig(), now_ms=0)
    log.append(*make(), leader_epoch=0, now_ms=0)
    log.flush()
    disk = Forgetful(log.segments[-1].log_path, log.size)
    log.append(*make(), leader_epoch=0, now_ms=0)
    log.abandon()
    log = Log.open(tmp_path, LogConfig(), now_ms=0, recovery_point=1, disk=disk)
    assert log.log_end_offset == 1


class Unreadable(Disk):
    is_broken = False

    def pread(self, fd: int, length: int, position: int) -> bytes:
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().pread(fd, length, position)


def test_an_append_whose_flush_went_well_is_not_refused_for_a_snapshot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Seeds 63 and 91: the disk could not be read, and the error went through to the connection."""
    disk = Unreadable()
    log = Log.open(tmp_path, FLUSH_EACH, now_ms=0, disk=disk)
    for number in range(4):
        batch = bytearray(encode_batch([Record(0, 0, b"key", bytes(100))]))
        disk.is_broken = number == 3
        assert log.append(batch, check(batch), leader_epoch=0, now_ms=0).base_offset == number
    assert log.recovery_point == 4
    assert "producer snapshot not stored" in caplog.text
