"""When a log begins a new segment, and with how large a file."""

import itertools
import random
from pathlib import Path

import pytest

from millstream_log import Log, LogConfig, StorageError
from millstream_log.disk import Disk

JITTERED = LogConfig(segment_ms=1000, segment_jitter_ms=400)
ALLOCATED = LogConfig(segment_bytes=4096, preallocate=True)


class Drawing(random.Random):
    """Draws what it is told to, and knows from how many."""

    def __init__(self, *drawn: int) -> None:
        super().__init__(0)
        self.drawn = list(drawn)
        self.ranges: list[int] = []

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert (stop, step) == (None, 1)
        self.ranges.append(start)
        return self.drawn.pop(0)


def ages_of_segments(log: Log, make, until_ms: int) -> list[int]:
    """How old each segment but the last had become when the next one began."""
    for now_ms in range(0, until_ms, 100):
        log.append(*make(timestamp=now_ms), leader_epoch=0, now_ms=now_ms)
    begins = [segment.header_at(0).max_timestamp for segment in log.segments]
    return [after - before for before, after in itertools.pairwise(begins)]


def test_each_segment_rolls_earlier_by_what_was_drawn_for_it(tmp_path: Path, make) -> None:
    drawn = Drawing(0, 399, 100, 0)
    log = Log.open(tmp_path, JITTERED, now_ms=0, generator=drawn)
    assert ages_of_segments(log, make, 3400) == [1100, 700, 1000]
    assert drawn.ranges == [400] * 4


def test_nothing_is_drawn_without_a_jitter_and_never_more_than_the_age(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path / "none", LogConfig(segment_ms=1000), now_ms=0, generator=Drawing())
    assert ages_of_segments(log, make, 2500) == [1100, 1100]
    drawn = Drawing(0)
    log = Log.open(tmp_path / "more", LogConfig(segment_ms=10, segment_jitter_ms=500), now_ms=0, generator=drawn)
    log.append(*make(), leader_epoch=0, now_ms=0)
    assert drawn.ranges == [10]


def test_a_new_segment_has_its_room_and_gives_back_what_it_did_not_need(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, ALLOCATED, now_ms=0)
    for _ in range(60):
        log.append(*make(value=bytes(100)), leader_epoch=0, now_ms=0)
        log.check()
    sizes = [segment.log_path.stat().st_size for segment in log.segments]
    assert len(sizes) > 2
    assert sizes == [*(segment.size for segment in log.segments[:-1]), 4096]
    log.close()
    assert log.segments[-1].log_path.stat().st_size == log.segments[-1].size


def test_room_that_a_killed_process_had_is_no_part_of_the_log(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, ALLOCATED, now_ms=0)
    for _ in range(50):
        log.append(*make(value=bytes(100)), leader_epoch=0, now_ms=0)
    end, size = log.log_end_offset, log.segments[-1].size
    log.abandon()
    log = Log.open(tmp_path, ALLOCATED, now_ms=0)
    assert log.log_end_offset == end
    assert log.segments[-1].log_path.stat().st_size == size
    log.append(*make(value=bytes(100)), leader_epoch=0, now_ms=0)
    assert log.read(end, 10_000) is not None


def test_a_disk_without_that_room_refuses_and_the_log_goes_on_once_it_has(tmp_path: Path, make) -> None:
    class Full(Disk):
        is_full = False

        def allocate(self, fd: int, size: int) -> None:
            if self.is_full:
                raise OSError("no space left on device")
            super().allocate(fd, size)

    disk = Full()
    log = Log.open(tmp_path, ALLOCATED, now_ms=0, disk=disk)
    log.append(*make(), leader_epoch=0, now_ms=0)
    disk.is_full = True
    with pytest.raises(StorageError, match="no space left"):
        log.append(*make(value=bytes(4090)), leader_epoch=0, now_ms=0)
    disk.is_full = False
    log.append(*make(value=bytes(4090)), leader_epoch=0, now_ms=0)
    assert log.log_end_offset == 2
    log.check()
