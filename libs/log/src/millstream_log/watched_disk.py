"""A disk that notices when it has failed as a whole, which one of several directories may while the others go on."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from millstream_log.disk import Disk

_FAILED = frozenset(
    {errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.EUCLEAN, errno.ENOTCONN, errno.EREMOTEIO}
)
"""What a device or a file system says that will not get better by itself. A full disk is another matter."""


class _Noting:
    """Around every call; it keeps nothing, so that one will do for all threads."""

    __slots__ = ("_on_failure", "lock")

    def __init__(self, lock: Path, on_failure: Callable[[OSError], None]) -> None:
        self.lock = lock
        self._on_failure = on_failure

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            gone = error.errno == errno.ENOENT and not os.path.exists(self.lock)
            if gone or error.errno in _FAILED:
                self._on_failure(error)


class WatchedDisk(Disk):
    """Another disk, whose user is told of the first such error below `root`; each is raised as it came."""

    def __init__(self, disk: Disk, root: Path, on_failure: Callable[[OSError], None]) -> None:
        """`on_failure` is called in the thread that met the error, for each such error."""
        self._disk = disk
        self._noting = _Noting(root / ".lock", on_failure)

    def look(self) -> None:
        """See whether the directory is there at all."""
        with suppress(OSError), self._noting:
            os.stat(self._noting.lock)

    # ---- files ----

    def open(self, path: Path, flags: int) -> int:
        with self._noting:
            return self._disk.open(path, flags)

    def close(self, fd: int) -> None:
        with self._noting:
            self._disk.close(fd)

    def pread(self, fd: int, length: int, position: int) -> bytes:
        with self._noting:
            return self._disk.pread(fd, length, position)

    def pread_resident(self, fd: int, buffer: bytearray, position: int) -> int:
        with self._noting:
            return self._disk.pread_resident(fd, buffer, position)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        with self._noting:
            return self._disk.pwrite(fd, data, position)

    def ftruncate(self, fd: int, size: int) -> None:
        with self._noting:
            self._disk.ftruncate(fd, size)

    def allocate(self, fd: int, size: int) -> None:
        with self._noting:
            self._disk.allocate(fd, size)

    def forget(self, fd: int, position: int) -> None:
        with self._noting:
            self._disk.forget(fd, position)

    def fsync(self, fd: int) -> None:
        with self._noting:
            self._disk.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        with self._noting:
            self._disk.fdatasync(fd)

    # ---- names ----

    def rename(self, source: Path, target: Path) -> None:
        with self._noting:
            self._disk.rename(source, target)

    def unlink(self, path: Path) -> None:
        with self._noting:
            self._disk.unlink(path)

    def mkdir(self, path: Path) -> None:
        with self._noting:
            self._disk.mkdir(path)

    def rmdir(self, path: Path) -> None:
        with self._noting:
            self._disk.rmdir(path)

    def sync_directory(self, directory: Path) -> None:
        with self._noting:
            self._disk.sync_directory(directory)

    # ---- room ----

    def space(self, path: Path) -> tuple[int, int]:
        with self._noting:
            return self._disk.space(path)
