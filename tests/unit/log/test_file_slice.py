import os
import socket
from pathlib import Path

import pytest

from millstream_log.disk import DISK, Disk
from millstream_log.file_slice import FileSlice, SegmentFile


def file_of(path: Path, content: bytes) -> SegmentFile:
    path.write_bytes(content)
    return SegmentFile(path, os.O_RDWR)


def test_a_slice_is_sent_and_read_without_moving_anything(tmp_path: Path) -> None:
    piece = FileSlice(file_of(tmp_path / "x", b"0123456789"), 3, 4)
    assert len(piece) == 4
    assert piece.read() == b"3456"
    here, there = socket.socketpair()
    with here, there:
        assert os.sendfile(here.fileno(), piece.fileno(), piece.position, len(piece)) == 4
        assert there.recv(10) == b"3456"


def test_the_file_stays_open_for_its_slices_and_closes_with_the_last(tmp_path: Path) -> None:
    file = file_of(tmp_path / "x", b"0123456789")
    fd = file.fileno()
    first, second = FileSlice(file, 0, 5), FileSlice(file, 5, 5)
    del file
    (tmp_path / "x").unlink()
    first.release()
    assert second.read() == b"56789"
    second.release()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


def test_reading_past_the_end_gives_what_there_is(tmp_path: Path) -> None:
    file = file_of(tmp_path / "x", b"0123")
    assert DISK.read(file.fileno(), 10, 2) == b"23"
    assert DISK.read(file.fileno(), 10, 9) == b""


class ThreeBytesAtATime(Disk):
    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        return super().pwrite(fd, bytes(data)[:3], position)


def test_writing_goes_on_after_a_short_write(tmp_path: Path) -> None:
    file = file_of(tmp_path / "x", b"")
    ThreeBytesAtATime().write(file.fileno(), b"0123456789", 2)
    assert (tmp_path / "x").read_bytes() == b"\0\0" + b"0123456789"


def test_a_file_that_cannot_be_opened_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SegmentFile(tmp_path / "missing", os.O_RDWR)
