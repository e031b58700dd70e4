"""What readers of committed records need of a log: where they must stop, and which transactions to leave out."""

import errno
import os
from pathlib import Path

import pytest

from millstream_log import (
    AbortedTransaction,
    InvalidProducerEpoch,
    Log,
    LogConfig,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from millstream_log.disk import DISK, Disk
from millstream_log.errors import InvalidTransactionState, StorageError
from millstream_wire.records import EndMarker, check, encode_batch

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=60)


class Partition:
    """A log that producers write transactions to."""

    def __init__(self, directory: Path, make, disk: Disk = DISK) -> None:
        self.directory = directory
        self.log = Log.open(directory, CONFIG, now_ms=0, disk=disk)
        self._make = make
        self._sequences: dict[int, int] = {}

    def write(self, producer_id: int, *, epoch: int = 0, transactional: bool = True) -> int:
        sequence = self._sequences.get(producer_id, 0)
        batch, header = self._make(
            producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=transactional
        )
        result = self.log.append(batch, header, leader_epoch=0, now_ms=0)
        self._sequences[producer_id] = sequence + 1
        return result.base_offset

    def again(self, producer_id: int, *, back: int = 1) -> tuple[int, bool]:
        """Send a batch with the numbers of an earlier one: where it is taken to be, and whether as a repetition."""
        sequence = self._sequences[producer_id] - back
        batch, header = self._make(
            producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True
        )
        result = self.log.append(batch, header, leader_epoch=0, now_ms=0)
        return result.base_offset, result.is_duplicate

    def end(self, producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 1) -> int:
        record = EndMarker(commit, coordinator_epoch).encode(0)
        batch = bytearray(
            encode_batch([record], producer_id=producer_id, producer_epoch=epoch, transactional=True, control=True)
        )
        return self.log.append_control(batch, check(batch), leader_epoch=0, now_ms=0).base_offset

    def fill_segment(self) -> None:
        """Write until a segment is full: the next one begins with what is known of the producers."""
        segments = len(self.log.segments)
        for _ in range(CONFIG.segment_bytes):
            if len(self.log.segments) == segments:
                self.write(1)

    def reopen(self, *, clean: bool = True) -> None:
        recovery_point = self.log.recovery_point
        if clean:
            self.log.close()
        else:
            self.log.abandon()
        self.log = Log.open(self.directory, CONFIG, now_ms=0, clean=clean, recovery_point=recovery_point)

    def aborted(self) -> list[AbortedTransaction]:
        return self.log.aborted_transactions(self.log.log_start_offset, self.log.log_end_offset)


@pytest.fixture
def partition(tmp_path: Path, make) -> Partition:
    return Partition(tmp_path / "topic-0", make)


def test_readers_stop_before_the_oldest_transaction_under_way(partition: Partition) -> None:
    assert partition.log.first_unstable_offset is None
    assert [partition.write(1), partition.write(2), partition.write(1)] == [0, 1, 2]
    assert partition.log.first_unstable_offset == 0
    partition.end(1, commit=True)
    assert partition.log.first_unstable_offset == 1
    partition.end(2, commit=False)
    assert partition.log.first_unstable_offset is None
    assert partition.aborted() == [AbortedTransaction(2, 1, 4, 5)]


def test_only_aborted_transactions_of_the_range_are_told(partition: Partition) -> None:
    for _ in range(3):
        partition.write(1)
        partition.end(1, commit=False)
    assert [entry.first_offset for entry in partition.log.aborted_transactions(2, 4)] == [2]
    assert [entry.first_offset for entry in partition.log.aborted_transactions(1, 6)] == [0, 2, 4]
    assert partition.log.aborted_transactions(6, 6) == []


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_forgets_no_transaction(partition: Partition, *, clean: bool) -> None:
    for number in range(20):
        partition.write(1)
        partition.write(2)
        partition.end(1, commit=number % 3 == 0)
    assert len(partition.log.segments) > 2
    known, unstable = partition.aborted(), partition.log.first_unstable_offset
    assert len(known) == 13
    for _ in range(2):
        partition.reopen(clean=clean)
        assert partition.aborted() == known
        assert partition.log.first_unstable_offset == unstable == 1
    partition.end(2, commit=False)
    assert partition.aborted() == [*known, AbortedTransaction(2, 1, 60, 61)]


def test_truncation_takes_back_what_it_cuts(partition: Partition) -> None:
    partition.write(1)
    partition.end(1, commit=False)
    start = partition.write(1)
    end = partition.end(1, commit=False)
    partition.log.truncate_to(end, now_ms=0)
    assert partition.aborted() == [AbortedTransaction(1, 0, 1, 2)]
    assert partition.log.first_unstable_offset == start


def test_truncation_to_nothing_takes_back_every_transaction(partition: Partition) -> None:
    """Found by the course of transactions: the last segment's index was left alone where no batch was to be replayed."""
    partition.write(1)
    partition.end(1, commit=False)
    partition.log.truncate_to(0, now_ms=0)
    partition.end(1, commit=False)
    assert partition.aborted() == []


def test_a_missing_index_is_made_anew_with_the_snapshots(partition: Partition) -> None:
    partition.write(1)
    partition.end(1, commit=False)
    known = partition.aborted()
    partition.log.abandon()
    for path in partition.directory.glob("*.txnindex"):
        path.unlink()
    partition.reopen(clean=False)
    assert partition.aborted() == known


def test_markers_of_the_deposed_are_refused(partition: Partition) -> None:
    partition.write(1, epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        partition.end(1, commit=True, epoch=2)
    partition.end(1, commit=True, epoch=3, coordinator_epoch=7)
    with pytest.raises(TransactionCoordinatorFenced):
        partition.end(1, commit=True, epoch=3, coordinator_epoch=6)


def test_a_producer_writes_nothing_beside_its_transaction(partition: Partition) -> None:
    partition.write(1)
    with pytest.raises(InvalidTransactionState):
        partition.write(1, transactional=False)
    partition.end(1, commit=True)
    assert partition.write(1, transactional=False) == 2


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("reopened", [False, True])
def test_numbers_of_an_ended_transaction_are_no_repetition(partition: Partition, commit: bool, reopened: bool) -> None:
    """A client that took its batch for lost gave its numbers to the next transaction, which was committed without records.

    Found by `make chaos FAMILY=full SEED=7721`: librdkafka counts anew after an abort.
    """
    partition.write(1)
    assert partition.again(1) == (0, True)
    partition.end(1, commit=commit)
    if reopened:
        partition.reopen(clean=False)
    with pytest.raises(OutOfOrderSequence):
        partition.again(1)
    assert partition.write(1) == 2
    assert partition.again(1) == (2, True)
    with pytest.raises(OutOfOrderSequence):
        partition.again(1, back=2)


class NoRoomForIndexes(Disk):
    """Takes batches, and nothing into an index of aborted transactions while it is full."""

    is_full = False

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if self.is_full and os.readlink(f"/proc/self/fd/{fd}").endswith(".txnindex"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().pwrite(fd, data, position)


@pytest.fixture
def crowded(tmp_path: Path, make) -> tuple[Partition, NoRoomForIndexes]:
    disk = NoRoomForIndexes()
    return Partition(tmp_path / "topic-0", make, disk), disk


def test_a_marker_without_room_for_its_entry_costs_no_log(crowded: tuple[Partition, NoRoomForIndexes]) -> None:
    """Found by `make chaos FAMILY=full,rest SEED=13`: a follower's log took nothing more, and stayed out of the ISR for good."""
    partition, disk = crowded
    disk.is_full = True
    partition.write(1)
    partition.end(1, commit=False)
    known = [AbortedTransaction(1, 0, 1, 2)]
    assert not partition.log.has_failed
    assert partition.aborted() == known
    with pytest.raises(StorageError, match="No space left"):
        partition.fill_segment()
    assert not partition.log.has_failed
    disk.is_full = False
    partition.write(1)
    assert len(partition.log.segments) > 1
    partition.reopen()
    assert partition.aborted() == known


def test_a_crash_before_there_was_room_forgets_no_transaction(crowded: tuple[Partition, NoRoomForIndexes]) -> None:
    partition, disk = crowded
    partition.write(1)
    partition.end(1, commit=False)
    disk.is_full = True
    partition.write(1)
    partition.end(1, commit=False)
    known = partition.aborted()
    assert len(known) == 2
    partition.reopen(clean=False)
    assert partition.aborted() == known


def test_a_cut_waits_for_room_for_an_entry_that_stays(crowded: tuple[Partition, NoRoomForIndexes]) -> None:
    partition, disk = crowded
    disk.is_full = True
    partition.write(1)
    partition.end(1, commit=False)
    start = partition.write(1)
    disk.is_full = False
    partition.log.truncate_to(start, now_ms=0)
    partition.reopen(clean=False)
    assert partition.aborted() == [AbortedTransaction(1, 0, 1, 2)]
