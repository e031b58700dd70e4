"""A range of a segment file, ready for `sendfile`: what a fetch answers instead of bytes.

The file stays open, even unlinked, for as long as a slice of it is held: a descriptor is never reused under a send.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mypy_extensions import mypyc_attr

from millstream_log.page_cache import is_resident, load, read_resident


class SegmentFile:
    """An open file; it closes when its last holder (the segment, or a slice in flight) lets go of it."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: Path, flags: int) -> None:
        self._fd = -1
        self.path = path
        self._fd = os.open(path, flags | os.O_CLOEXEC, 0o644)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

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

    def part(self, position: int, length: int) -> "FileSlice":
        """A slice of this slice, by its position in the file."""
        assert self._file is not None, "a released slice"
        assert self.position <= position
        assert position + length <= self.position + self._length
        return FileSlice(self._file, position, length)

    def read(self) -> bytes:
        """Copy the bytes out: for small slices, and where TLS needs them in user space."""
        return read_fully(self.fileno(), self._length, self.position)

    def read_resident(self) -> bytes | bytearray | None:
        """As `read`, but None where that would wait for the disk."""
        return read_resident(self.fileno(), self._length, self.position)

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


def read_fully(fd: int, length: int, position: int) -> bytes:
    """Read exactly `length` bytes, or fewer only at the end of the file."""
    data = os.pread(fd, length, position)
    if len(data) in (length, 0):
        return data
    parts = [data]
    have = len(data)
    while have < length:
        data = os.pread(fd, length - have, position + have)
        if not data:
            break
        parts.append(data)
        have += len(data)
    return b"".join(parts)


def write_fully(fd: int, data: bytes | bytearray | memoryview, position: int) -> None:
    """Write all of `data`; on an error some of it may have been written."""
    written = os.pwrite(fd, data, position)
    if written == len(data):
        return
    view = memoryview(data)
    while written < len(view):
        written += os.pwrite(fd, view[written:], position + written)
