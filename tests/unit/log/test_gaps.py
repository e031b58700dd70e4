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


class Full(Disk):
    """Takes names but no batches while it is full."""

    is_full = False

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if self.is_full and len(data) > 100:
            raise OSError("no space left on device")
        return super().pwrite(fd, data, position)


@pytest.mark.parametrize("gap", [5, 1 << 32])
def test_a_gap_that_begins_a_segment_on_a_full_disk_leaves_a_whole_log(tmp_path: Path, gap: int) -> None:
    """Courses 14, 98, 132, 155 and 186: the empty segment began behind the gap, and the log ended before it."""
    disk = Full()
    log = Log.open(tmp_path, CONFIG, now_ms=0, disk=disk)
    base_offset = 0
    while len(log.segments) < 2:
        fetch(log, base_offset)
        base_offset += 1
    while log.segments[-1].size + 200 < CONFIG.segment_bytes:
        fetch(log, base_offset)
        base_offset += 1
    segments = len(log.segments)
    disk.is_full = True
    with pytest.raises(StorageError, match="no space left"):
        fetch(log, base_offset + gap)
    log.check()
    assert len(log.segments) == segments + 1
    log.abandon()
    log = Log.open(tmp_path, CONFIG, now_ms=0, disk=disk)
    log.check()
    disk.is_full = False
    fetch(log, base_offset + gap)
    log.check()
    log.abandon()
    assert Log.open(tmp_path, CONFIG, now_ms=0).log_end_offset == base_offset + gap + 1


@pytest.mark.parametrize("left", [0, 1])
def test_a_segment_whose_last_batches_are_gone_is_a_loss_where_nothing_was_cleaned(tmp_path: Path, left: int) -> None:
    """Courses 38, 121, 131 and 198: the log went on behind a hole, in which there were acknowledged records."""
    log = follower(tmp_path)
    lost = log.segments[2]
    batches = list(lost.headers())
    assert len(batches) > left
    log.abandon()
    lost.log_path.write_bytes(lost.log_path.read_bytes()[: batches[left][0]])
    end_offset = batches[left - 1][1].next_offset if left else lost.base_offset
    assert Log.open(tmp_path, CONFIG, now_ms=0).log_end_offset == end_offset


@pytest.mark.parametrize("mark", [b"", b"%d" % (1 << 20)])
def test_a_segment_that_may_be_short_is_no_loss(tmp_path: Path, mark: bytes) -> None:
    """The mark of an earlier version says nothing about segments: any may be."""
    log = follower(tmp_path)
    emptied = log.segments[2]
    log.abandon()
    emptied.log_path.write_bytes(b"")
    (tmp_path / "offset-gaps").write_bytes(mark)
    assert Log.open(tmp_path, CONFIG, now_ms=0).log_end_offset == 91


def test_a_segment_that_is_written_anew_behind_a_cut_may_not_be_short(tmp_path: Path) -> None:
    log = follower(tmp_path)
    log.allow_gaps(short_before=log.segments[-1].base_offset)
    log.truncate_to(0, now_ms=0)
    log.check()
    lost = written_again(log)
    assert Log.open(tmp_path, CONFIG, now_ms=0).log_end_offset == lost


def test_a_segment_that_is_written_anew_behind_a_loss_may_not_be_short(tmp_path: Path) -> None:
    log = follower(tmp_path)
    log.allow_gaps(short_before=log.segments[-1].base_offset)
    log.abandon()
    for segment in log.segments[1:]:
        segment.log_path.unlink()
    first = log.segments[0].log_path
    first.write_bytes(first.read_bytes()[:-1])
    log = Log.open(tmp_path, CONFIG, now_ms=0)
    log.check()
    lost = written_again(log)
    assert Log.open(tmp_path, CONFIG, now_ms=0).log_end_offset == lost


def written_again(log: Log) -> int:
    """Let the log grow from where it is and lose a batch at the end of what is its first segment then; where that was."""
    for base_offset in range(log.log_end_offset, 60):
        fetch(log, base_offset)
    first = log.segments[0]
    position, header = list(first.headers())[-1]
    log.abandon()
    first.log_path.write_bytes(first.log_path.read_bytes()[:position])
    return header.base_offset
