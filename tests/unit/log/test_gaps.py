"""Offsets that are missing: a loss in most logs, and none in one that was ever compacted, wherever that was."""

from pathlib import Path

import pytest

from millstream_log import Log, LogConfig, StorageError
from millstream_log.disk import Disk
from millstream_wire.records import Record, check, encode_batch

CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=100)


def fetch(log: Log, base_offset: int) -> None:
    """Append one record as its leader has it."""
    batch = bytearray(encode_batch([Record(0, 1, b"key", bytes(100))], base_offset=base_offset, leader_epoch=3))
    log.append_as_follower(batch, check(batch), now_ms=0)


def follower(directory: Path, disk: Disk | None = None) -> Log:
    log = Log.open(directory, CONFIG, now_ms=0, disk=disk or Disk())
    for base_offset in range(0, 100, 10):  # what a leader's cleaning left: one record of ten
        fetch(log, base_offset)
    assert log.log_end_offset == 91
    assert len(log.segments) > 2
    return log


def test_a_killed_follower_keeps_what_its_compacted_leader_sent(tmp_path: Path) -> None:
    follower(tmp_path).abandon()
    assert Log.open(tmp_path, CONFIG, now_ms=0).log_end_offset == 91


def test_it_is_noted_on_the_disk_before_the_first_gap_is_there(tmp_path: Path) -> None:
    seen = []

    class Watching(Disk):
        def sync_directory(self, directory: Path) -> None:
            super().sync_directory(directory)
            seen.append((sorted(path.name for path in directory.glob("offset-gaps")), log.log_end_offset))

    log = Log.open(tmp_path, CONFIG, now_ms=0, disk=Watching())
    fetch(log, 0)
    fetch(log, 1)
    assert seen == []
    fetch(log, 20)
    fetch(log, 30)
    assert seen == [(["offset-gaps"], 2)]


def test_a_gap_that_cannot_be_noted_is_not_taken(tmp_path: Path) -> None:
    class Full(Disk):
        def sync_directory(self, directory: Path) -> None:
            raise OSError("no space left on device")

    log = Log.open(tmp_path, CONFIG, now_ms=0, disk=Full())
    fetch(log, 0)
    with pytest.raises(StorageError, match="no space left"):
        fetch(log, 5)
    assert log.log_end_offset == 1


def test_without_a_gap_of_its_own_a_log_ends_where_something_is_missing(tmp_path: Path) -> None:
    log = Log.open(tmp_path, CONFIG, now_ms=0)
    for base_offset in range(20):
        fetch(log, base_offset)
    lost = log.segments[2]
    log.abandon()
    lost.log_path.unlink()
    assert Log.open(tmp_path, CONFIG, now_ms=0).log_end_offset == lost.base_offset
