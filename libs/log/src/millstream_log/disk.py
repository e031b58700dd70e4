"""The one way from this package to the file system, wherever what is there afterwards or what may fail matters.

A simulated disk overrides these methods, and loses, tears or refuses what a real one may. What a send has been given stays out
of it: `sendfile` reads its own descriptor. So do questions that promise nothing: which names a directory has, how large a file is.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from mypy_extensions import mypyc_attr

from millstream_log.page_cache import NotResident

# Final: compiled, any other name of a module is searched for.
_pread: Final = os.pread
_preadv: Final = os.preadv
_pwrite: Final = os.pwrite
_RWF_NOWAIT: Final = os.RWF_NOWAIT


@mypyc_attr(allow_interpreted_subclasses=True)
class Disk:
    """Each method raises OSError and nothing else (`read_at_once` also NotResident). Any thread may call it.

    After a power loss there is, of a file: what had been written before its last `fsync` or `fdatasync` that ended well. Of
    a name: what `rename`, `unlink`, `mkdir` and an `open` that creates had done before the last `sync_directory` of its
    directory. Of everything later any part may be there. A failed `fsync` or `fdatasync` has lost what it was for: another
    one on the same file may end well and change nothing about that.
    """

    # ---- files ----

    def open(self, path: Path, flags: int) -> int:
        """Return a descriptor; with O_CREAT the name is made if there is none."""
        return os.open(path, flags | os.O_CLOEXEC, 0o644)

    def close(self, fd: int) -> None:
        """Let go of a descriptor. It brings nothing to the disk."""
        os.close(fd)

    def pread(self, fd: int, length: int, position: int) -> bytes:
        """Return up to `length` bytes, none only at the end of the file; waits for the disk."""
        return _pread(fd, length, position)

    def pread_resident(self, fd: int, buffer: bytearray, position: int) -> int:
        """Fill `buffer` from memory and return how many bytes there were; BlockingIOError if the first is on the disk only.

        A file system that cannot be asked waits for its disk.
        """
        try:
            return _preadv(fd, [buffer], position, _RWF_NOWAIT)
        except BlockingIOError:
            raise
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
        return _preadv(fd, [buffer], position)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        """Write some of `data`, at least a byte, and return how many; on an error nothing has been written."""
        return _pwrite(fd, data, position)

    def ftruncate(self, fd: int, size: int) -> None:
        """Cut a file, or let it grow with zeros."""
        os.ftruncate(fd, size)

    def allocate(self, fd: int, size: int) -> None:
        """Let a file grow to `size`, of zeros, with room on the disk for all of it."""
        os.posix_fallocate(fd, 0, size)

    def forget(self, fd: int, position: int) -> None:
        """Drop what memory holds of a file from `position` on and has been written: the next read shows what the disk has."""
        os.posix_fadvise(fd, position, 0, os.POSIX_FADV_DONTNEED)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        """As `fsync`, without what reading the file does not need. Its size counts as needed."""
        os.fdatasync(fd)

    # ---- names ----

    def rename(self, source: Path, target: Path) -> None:
        """Give a file or directory another name, in one step; a file that has the name already is replaced."""
        os.rename(source, target)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        os.mkdir(path)

    def rmdir(self, path: Path) -> None:
        os.rmdir(path)

    def sync_directory(self, directory: Path) -> None:
        """Bring the names in a directory to the disk."""
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    # ---- room ----

    def space(self, path: Path) -> tuple[int, int]:
        """How many bytes the file system of a directory has, and how many of them may still be used."""
        space = os.statvfs(path)
        return space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize

    # ---- made of the above ----

    def read(self, fd: int, length: int, position: int) -> bytes:
        """Read exactly `length` bytes, or fewer only at the end of the file."""
        data = self.pread(fd, length, position)
        if len(data) in (length, 0):
            return data
        parts = [data]
        have = len(data)
        while have < length:
            data = self.pread(fd, length - have, position + have)
            if not data:
                break
            parts.append(data)
            have += len(data)
        return b"".join(parts)

    def read_resident(self, fd: int, length: int, position: int) -> bytearray | None:
        """Read exactly `length` bytes; None if that would wait for the disk, or the file is shorter."""
        data = bytearray(length)
        try:
            count = self.pread_resident(fd, data, position)
        except BlockingIOError:
            return None
        return data if count == length else None

    def read_at_once(self, fd: int, length: int, position: int) -> bytes | bytearray:
        """As `read`, but raise NotResident where it would wait."""
        data = self.read_resident(fd, length, position)
        if data is None:
            raise NotResident(position, length)
        return data

    def write(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data`; on an error some of it may have been written."""
        written = self.pwrite(fd, data, position)
        if written == len(data):
            return
        view = memoryview(data)
        while written < len(view):
            written += self.pwrite(fd, view[written:], position + written)

    def sync_file(self, path: Path) -> None:
        """Bring a file that somebody else may have written to the disk."""
        fd = self.open(path, os.O_RDONLY)
        try:
            self.fsync(fd)
        finally:
            self.close(fd)


DISK: Final = Disk()
"""The real one."""


def unlink_if_there(disk: Disk, path: Path) -> None:
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return


def make_directories(disk: Disk, path: Path) -> None:
    """Make a directory and those it lies in, where they are missing, and bring their names to the disk.

    Or a power loss could take all that is in it, however often that was flushed: nobody else flushes the name.
    """
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # another process of the cluster starts as well
            disk.mkdir(each)
        disk.sync_directory(each.parent)


def remove_tree(disk: Disk, path: Path) -> None:
    """Remove a directory and all that is in it."""
    for entry in sorted(os.listdir(path)):
        inner = path / entry
        if inner.is_dir() and not inner.is_symlink():
            remove_tree(disk, inner)
        else:
            disk.unlink(inner)
    disk.rmdir(path)
