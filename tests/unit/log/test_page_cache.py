import os
from pathlib import Path

import pytest

from millstream_log.file_slice import FileSlice, SegmentFile
from millstream_log.page_cache import is_resident, load, read_resident

SIZE = 1 << 20


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
    assert read_resident(cold.fileno(), 10, 0) is None


def test_loading_brings_in_a_range_and_ends_with_the_file(cold: SegmentFile) -> None:
    load(cold.fileno(), 10 * SIZE, 0)
    assert is_resident(cold.fileno(), 0)
    assert is_resident(cold.fileno(), SIZE // 2)
    assert read_resident(cold.fileno(), 10, 10) == b"0123456789"


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
    assert read_resident(file.fileno(), 20, 0) is None  # shorter than asked for
