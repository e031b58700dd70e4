"""What power losses have brought out in a log, each by itself: seeds of courses found them."""

import random
from pathlib import Path
from uuid import UUID

import pytest

from millstream_log import DataDir, Log, LogConfig, TopicPartition
from millstream_log.transaction_index import AbortedTransaction, TransactionIndex
from millstream_simulation.disks.sim_disk import SimDisk
from millstream_wire.records import Record, check, encode_batch

NOW_MS = 1_700_000_000_000
KEY = TopicPartition("topic", 0)
TOPIC_ID = UUID(int=1)
CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=60)


def append(log: Log, count: int) -> None:
    for _ in range(count):
        batch = bytearray(encode_batch([Record(0, NOW_MS, b"key", bytes(50))]))
        log.append(batch, check(batch), leader_epoch=0, now_ms=NOW_MS)


@pytest.mark.parametrize("seed", range(10))
def test_the_mark_of_a_clean_stop_does_not_come_back(tmp_path: Path, seed: int) -> None:
    disk = SimDisk(tmp_path, random.Random(seed))
    DataDir(tmp_path, node_id=1, cluster_id="cluster", disk=disk).close()
    running = DataDir(tmp_path, node_id=1, cluster_id="cluster", disk=disk)
    assert running.was_clean
    running.abandon()
    disk.lose_power()
    again = DataDir(tmp_path, node_id=1, cluster_id="cluster", disk=disk)
    assert not again.was_clean
    again.abandon()


@pytest.mark.parametrize("seed", range(10))
def test_a_data_directory_below_the_mount_is_there_after_its_first_flush(tmp_path: Path, seed: int) -> None:
    """Of the whole system seeds 33, 37 and 39 lost all of the metadata, whose log lies in a directory that its store makes."""
    disk = SimDisk(tmp_path, random.Random(seed))
    path = tmp_path / "logs" / "broker"
    data = DataDir(path, node_id=1, cluster_id="cluster", disk=disk)
    log = data.open_log(KEY, TOPIC_ID, CONFIG, now_ms=NOW_MS)
    append(log, 3)
    log.flush()
    data.abandon()
    disk.lose_power()
    again = DataDir(path, node_id=1, cluster_id="cluster", disk=disk)
    assert again.open_log(KEY, TOPIC_ID, CONFIG, now_ms=NOW_MS).log_end_offset == 3
    again.abandon()


@pytest.mark.parametrize("seed", range(10))
def test_what_recovery_cut_off_stays_cut_off(tmp_path: Path, seed: int) -> None:
    disk = SimDisk(tmp_path, random.Random(seed))
    log = Log.open(tmp_path, CONFIG, now_ms=NOW_MS, disk=disk)
    append(log, 2)
    log.flush()
    (path,) = tmp_path.glob("*.log")
    log.abandon()
    with path.open("ab") as file:
        file.write(bytes(100))  # as a power loss leaves it
    disk = SimDisk(tmp_path, random.Random(seed))
    log = Log.open(tmp_path, CONFIG, now_ms=NOW_MS, recovery_point=2, disk=disk)
    size = path.stat().st_size
    log.roll(NOW_MS)
    append(log, 1)
    log.flush()
    log.abandon()
    disk.lose_power()
    assert path.stat().st_size == size
    again = Log.open(tmp_path, CONFIG, now_ms=NOW_MS, recovery_point=log.recovery_point, disk=disk)
    assert again.log_end_offset == 3


@pytest.mark.parametrize("seed", range(10))
def test_aborted_transactions_that_a_killed_process_wrote_are_flushed_by_the_next(tmp_path: Path, seed: int) -> None:
    disk = SimDisk(tmp_path, random.Random(seed))
    path = tmp_path / "00000000000000000000.txnindex"
    aborted = AbortedTransaction(1, 0, 3, 4)
    TransactionIndex(path, disk).add(aborted)
    TransactionIndex(path, disk).sync()
    disk.sync_directory(tmp_path)
    disk.lose_power()
    assert TransactionIndex(path, disk).entries == [aborted]
