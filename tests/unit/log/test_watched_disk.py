"""A disk that notices when it has failed as a whole."""

import errno
import os
from pathlib import Path

import pytest

from millstream_log.disk import Disk
from millstream_log.watched_disk import WatchedDisk


class Failing(Disk):
    def __init__(self, number: int) -> None:
        self.number = number

    def fdatasync(self, fd: int) -> None:
        raise OSError(self.number, os.strerror(self.number))


def watched(directory: Path, disk: Disk) -> tuple[WatchedDisk, list[OSError]]:
    (directory / ".lock").touch()
    told: list[OSError] = []
    return WatchedDisk(disk, directory, told.append), told


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.ENODEV])
def test_what_a_device_says_is_told_and_raised(tmp_path: Path, number: int) -> None:
    disk, told = watched(tmp_path, Failing(number))
    with pytest.raises(OSError, match=os.strerror(number)):
        disk.fdatasync(0)
    assert [error.errno for error in told] == [number]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EAGAIN])
def test_what_may_pass_is_only_raised(tmp_path: Path, number: int) -> None:
    disk, told = watched(tmp_path, Failing(number))
    with pytest.raises(OSError, match=os.strerror(number)):
        disk.fdatasync(0)
    assert told == []


def test_a_missing_file_is_no_failure_while_its_directory_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    disk, told = watched(tmp_path / "a", Disk())
    with pytest.raises(FileNotFoundError):
        disk.open(tmp_path / "a" / "x", os.O_RDONLY)
    disk.look()
    assert told == []
    (tmp_path / "a").rename(tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        disk.open(tmp_path / "a" / "x", os.O_RDONLY)
    disk.look()
    assert [error.errno for error in told] == [errno.ENOENT, errno.ENOENT]


def test_everything_else_is_done_as_the_other_disk_does_it(tmp_path: Path) -> None:
    disk, told = watched(tmp_path, Disk())
    own = {name for name in vars(WatchedDisk) if not name.startswith("_")} - {"look"}
    made_of_others = {"read", "read_resident", "read_at_once", "write", "sync_file"}
    assert own == {name for name in vars(Disk) if not name.startswith("_")} - made_of_others
    disk.mkdir(tmp_path / "d")
    fd = disk.open(tmp_path / "d" / "f", os.O_RDWR | os.O_CREAT)
    disk.write(fd, b"abcd", 0)
    disk.ftruncate(fd, 3)
    disk.fsync(fd)
    disk.fdatasync(fd)
    assert disk.read(fd, 10, 0) == b"abc"
    assert disk.read_resident(fd, 3, 0) == b"abc"
    disk.allocate(fd, 8)
    disk.forget(fd, 0)
    disk.close(fd)
    assert (tmp_path / "d" / "f").stat().st_size == 8
    disk.rename(tmp_path / "d" / "f", tmp_path / "d" / "g")
    disk.sync_directory(tmp_path / "d")
    disk.unlink(tmp_path / "d" / "g")
    disk.rmdir(tmp_path / "d")
    assert not (tmp_path / "d").exists()
    assert told == []
