"""A range of a segment file, ready for `sendfile`: what a fetch answers instead of bytes.

The file stays open, even unlinked, for as long as a slice of it is held: a descriptor is never reused under a send.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from mypy_extensions import mypyc_attr

from millstream_log.disk import DISK, Disk
from millstream_log.page_cache import is_resident, load


class SegmentFile:
    """An open file; it closes when its last holder (the segment, or a slice in flight) lets go of it."""

    __slots__ = ("_fd", "disk", "path")

    def __init__(self, path: Path, flags: int, disk: Disk = DISK) -> None:
        self._fd = -1
        self.path = path
        self.disk = disk
        self._fd = disk.open(path, flags)

    def __del__(self) -> None:
        if self._fd >= 0:
            self.disk.close(self._fd)

    def fileno(self) -> int:
        return self._fd


@mypyc_attr(allow_interpreted_subclasses=True)
class FileSlice:
    """`length` bytes of a file from `position`; they do not change while the slice is held."""

    __slots__ = ("_file", "_length", "position")

    def __init__(self, file: SegmentFile, position: int, length: int) -> None:
        self._file: SegmentFile | None = file
        self.position = position
        self._length = length

    def __len__(self) -> int:
        return self._length

    def fileno(self) -> int:
        assert self._file is not None, "a released slice"
        return self._file.fileno()

    @property
    def path(self) -> Path:
        assert self._file is not None, "a released slice"
        return self._file.path

    @property
    def disk(self) -> Disk:
        assert self._file is not None, "a released slice"
        return self._file.disk

    def part(self, position: int, length: int) -> "FileSlice":
        """A slice of this slice, by its position in the file."""
        assert self._file is not None, "a released slice"
        assert self.position <= position
        assert position + length <= self.position + self._length
        return FileSlice(self._file, position, length)

    def read(self) -> bytes:
        """Copy the bytes out: for small slices, and where TLS needs them in user space."""
        assert self._file is not None, "a released slice"
        return self._file.disk.read(self._file.fileno(), self._length, self.position)

    def read_resident(self) -> bytes | bytearray | None:
        """As `read`, but None where that would wait for the disk."""
        assert self._file is not None, "a released slice"
        return self._file.disk.read_resident(self._file.fileno(), self._length, self.position)

    def is_resident(self, position: int) -> bool:
        """Whether the file's byte at `position` can be sent at once."""
        return is_resident(self.fileno(), position)

    def loading(self, position: int, length: int) -> Callable[[], None]:
        """Work for a thread that brings this part of the file into memory; the slice may be released meanwhile."""
        assert self._file is not None, "a released slice"
        return partial(_load, self._file, position, length)

    def release(self) -> None:
        """Let go of the file before the slice itself goes out of use."""
        self._file = None


def _load(file: SegmentFile, position: int, length: int) -> None:
    load(file.fileno(), length, position)
