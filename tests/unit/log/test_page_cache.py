import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from millstream_log import ColdRead, Log, LogConfig
from millstream_log.disk import DISK
from millstream_log.file_slice import FileSlice, SegmentFile
from millstream_log.page_cache import is_resident, load

SIZE = 1 << 20
LOADS_MAX = 16
START_MS = 1_700_000_000_000

T = TypeVar("T")


def forget(file: SegmentFile) -> None:
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def cold(tmp_path: Path) -> SegmentFile:
    """A file that is on the disk only, where the file system can be made to forget it."""
    (tmp_path / "x").write_bytes(b"0123456789" * (SIZE // 10))
    file = SegmentFile(tmp_path / "x", os.O_RDWR)
    forget(file)
    if is_resident(file.fileno(), 0):
        pytest.skip("this file system keeps its files in memory, or does not say")
    forget(file)  # to ask may begin to read
    return file


def test_what_is_not_in_memory_is_not_waited_for(cold: SegmentFile) -> None:
    assert DISK.read_resident(cold.fileno(), 10, 0) is None


def test_loading_brings_in_a_range_and_ends_with_the_file(cold: SegmentFile) -> None:
    load(cold.fileno(), 10 * SIZE, 0)
    assert is_resident(cold.fileno(), 0)
    assert is_resident(cold.fileno(), SIZE // 2)
    assert DISK.read_resident(cold.fileno(), 10, 10) == b"0123456789"


def test_a_slice_can_be_loaded_after_it_was_let_go_of(cold: SegmentFile) -> None:
    piece = FileSlice(cold, 0, 20)
    work = piece.loading(0, 20)
    piece.release()
    work()
    assert FileSlice(cold, 0, 20).read_resident() == b"0123456789" * 2


def test_what_was_just_written_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    file = SegmentFile(tmp_path / "x", os.O_RDWR)
    assert is_resident(file.fileno(), 9)
    assert FileSlice(file, 3, 4).read_resident() == b"3456"
    assert DISK.read_resident(file.fileno(), 20, 0) is None  # shorter than asked for


def loading_as_asked(attempt: Callable[[], T]) -> tuple[T, int]:
    """What `attempt` gives once everything it missed is loaded, and how often it missed something."""
    for loads in range(LOADS_MAX):
        try:
            return attempt(), loads
        except ColdRead as missing:
            missing.load()
    raise AssertionError(f"still something is missing after {LOADS_MAX} loads")


def test_a_log_says_what_it_would_wait_for_and_finds_the_same_once_it_is_there(cold: SegmentFile, make) -> None:
    log = Log.open(cold.path.parent / "log", LogConfig(index_interval_bytes=4096), now_ms=0)
    for i in range(300):
        log.append(*make(20, timestamp=START_MS + 100 * i, value=bytes(1000)), leader_epoch=0, now_ms=0)
    log.close()
    log = Log.open(cold.path.parent / "log", LogConfig(index_interval_bytes=4096), now_ms=0, clean=True)
    segment = log.segments[0]
    reads = [(offset, 200_000) for offset in (4007, 1, 3000, 5999)]
    missed = 0
    for offset, max_bytes in reads:
        for path in (segment.log_path, segment.index.path, segment.times.path):
            forget(SegmentFile(path, os.O_RDWR))
        found, loads = loading_as_asked(lambda: log.read(offset, max_bytes, may_wait=False))  # noqa: B023
        missed += loads
        waited = log.read(offset, max_bytes)
        assert found is not None
        assert waited is not None
        assert (found.slice.position, len(found.slice)) == (waited.slice.position, len(waited.slice))
        for path in (segment.log_path, segment.index.path, segment.times.path):
            forget(SegmentFile(path, os.O_RDWR))
        timestamp = START_MS + 5 * offset
        at, loads = loading_as_asked(lambda: log.offset_for_timestamp(timestamp, may_wait=False))  # noqa: B023
        missed += loads
        assert at == log.offset_for_timestamp(timestamp)
    assert missed > len(reads)


def test_a_file_that_went_away_is_for_the_next_attempt_to_notice(tmp_path: Path) -> None:
    ColdRead(tmp_path / "gone", 0, 100).load()
