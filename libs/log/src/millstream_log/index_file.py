"""A sorted file of fixed-size entries: the part that offset index and time index share.

Entries go to an in-memory tail that is written out in groups. The file is opened for each use and read in place: a
thousand idle indexes cost nothing, and a full disk is an error of a write, never the fault of a mapping.
"""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from struct import Struct
from typing import Final

from millstream_log.atomic_file import read_file
from millstream_log.disk import DISK, Disk, unlink_if_there
from millstream_log.errors import ColdRead
from millstream_log.page_cache import NotResident, Reader

Entry = tuple[int, int]

_TAIL_ENTRIES: Final = 64
_BLOCK_ENTRIES: Final = 256


class IndexFile:
    """Entries of two numbers, both never decreasing from one entry to the next."""

    __slots__ = ("_disk", "_entry", "_last", "_stored", "_tail", "path")

    def __init__(self, path: Path, entry: Struct, disk: Disk = DISK) -> None:
        self.path = path
        self._disk = disk
        self._entry = entry
        self._stored = 0  # entries that are in the file; the others are in the tail
        self._tail: list[Entry] = []
        self._last: Entry | None = None

    def load(self) -> bool:
        """Take over the file as it is; return whether it can be an index of this kind at all."""
        try:
            with self._open() as fd:
                size = os.fstat(fd).st_size
                self._stored = size // self._entry.size
                self._tail = []
                self._last = self._read(fd, self._stored - 1) if self._stored else None
        except FileNotFoundError:
            return False
        return size % self._entry.size == 0

    def __len__(self) -> int:
        return self._stored + len(self._tail)

    def __getitem__(self, at: int) -> Entry:
        if at >= self._stored:
            return self._tail[at - self._stored]
        with self._open() as fd:
            return self._read(fd, at)

    @property
    def last(self) -> Entry | None:
        return self._last

    def is_sorted(self) -> bool:
        """Whether the stored entries are in the order that lookups rely on."""
        data = read_file(self.path, self._disk)[: self._stored * self._entry.size]
        return all(before <= after for before, after in pairwise(self._entry.iter_unpack(data)))

    @property
    def size(self) -> int:
        """Bytes of the file once all entries, and one more, are in it."""
        return (len(self) + 1) * self._entry.size

    def append(self, entry: Entry) -> None:
        self._tail.append(entry)
        self._last = entry

    def floor(self, value: int, column: int, read: Reader | None = None) -> Entry | None:
        """Return the last entry whose `column` is at most `value`."""
        if self._tail and self._tail[0][column] <= value:
            return self._tail[bisect_right(self._tail, value, key=itemgetter(column)) - 1]
        if self._stored == 0:
            return None
        try:
            with self._open() as fd:
                return self._stored_floor(fd, value, column, read or self._disk.read)
        except NotResident as missing:
            raise ColdRead(self.path, 0, self._stored * self._entry.size) from missing

    def _stored_floor(self, fd: int, value: int, column: int, read: Reader) -> Entry | None:
        """Find the block by the first entries of blocks, then look for the entry inside that."""
        size, unpack = self._entry.size, self._entry.unpack_from

        def first_of(block: int) -> int:
            return int(unpack(read(fd, size, block * _BLOCK_ENTRIES * size))[column])

        blocks = -(-self._stored // _BLOCK_ENTRIES)
        block = bisect_right(range(blocks), value, key=first_of) - 1
        if block < 0:
            return None
        start = block * _BLOCK_ENTRIES
        count = min(_BLOCK_ENTRIES, self._stored - start)
        data = read(fd, count * size, start * size)
        at = bisect_right(range(count), value, key=lambda i: unpack(data, i * size)[column]) - 1
        first, second = unpack(data, at * size)
        return first, second

    def count_below(self, value: int, column: int) -> int:
        """Return how many entries have less than `value` in `column`."""
        return bisect_left(range(len(self)), value, key=lambda at: self[at][column])

    @property
    def wants_flush(self) -> bool:
        return len(self._tail) >= _TAIL_ENTRIES

    def flush(self) -> None:
        """Write the tail out; after an error the same entries are written at the same place again."""
        if not self._tail and self.path.exists():
            return
        data = b"".join(self._entry.pack(*entry) for entry in self._tail)
        with self._open(os.O_WRONLY | os.O_CREAT) as fd:
            self._disk.write(fd, data, self._stored * self._entry.size)
        self._stored += len(self._tail)
        self._tail = []

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries."""
        assert count <= len(self)
        self._last = self[count - 1] if count else None
        if count < self._stored:
            with self._open(os.O_WRONLY) as fd:
                self._disk.ftruncate(fd, count * self._entry.size)
            self._stored = count
            self._tail = []
        else:
            del self._tail[count - self._stored :]

    def forget_after(self, count: int, last: Entry | None) -> None:
        """Know the first `count` entries only, `last` the last of them; the file follows by what `unsettled` says."""
        assert count <= len(self)
        self._last = last
        if count < self._stored:
            self._stored = count
            self._tail = []
        else:
            del self._tail[count - self._stored :]

    def unsettled(self) -> tuple[Path, bytes, int]:
        """The file, what is to be written into it, and where: then it ends."""
        return self.path, b"".join(self._entry.pack(*entry) for entry in self._tail), self._stored * self._entry.size

    def settle(self) -> None:
        """The file has what `unsettled` said."""
        self._stored += len(self._tail)
        self._tail = []

    def reset(self) -> None:
        """Start over as an empty index. The next flush makes the file: to take the old one away needs no room on a full disk."""
        self._stored = 0
        self._tail = []
        self._last = None
        unlink_if_there(self._disk, self.path)

    def delete(self) -> None:
        unlink_if_there(self._disk, self.path)

    def _read(self, fd: int, at: int) -> Entry:
        first, second = self._entry.unpack(self._disk.read(fd, self._entry.size, at * self._entry.size))
        return first, second

    @contextmanager
    def _open(self, flags: int = os.O_RDONLY) -> Iterator[int]:
        fd = self._disk.open(self.path, flags)
        try:
            yield fd
        finally:
            self._disk.close(fd)
