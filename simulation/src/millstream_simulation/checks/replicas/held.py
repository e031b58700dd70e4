"""What a process has in one log, batch by batch: the heads of its batches, each read once."""

import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from millstream_log import Log

READ_BYTES = 1 << 20
_HEAD = struct.Struct(">qiiBIhi")  # base offset, length, leader epoch, magic, CRC, attributes, last offset delta
_LENGTH_PREFIX = 12


class Batch(NamedTuple):
    base: int
    next: int
    epoch: int
    crc: int


class Held:
    """Invariant: `batches` are those of the log in `[start, end)` as they were when they were read.

    A batch that compaction rewrites later stays here as it was: what is compared is what was once there.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.batches: list[Batch] = []
        self.start = self.end = int(log.log_start_offset)

    def follow(self) -> list[Batch]:
        """Take in what was cut off and appended since; return what is new. OSError or StorageError: the disk cannot be read."""
        start, end = int(self.log.log_start_offset), int(self.log.log_end_offset)
        if end < self.end:
            self._cut(end)
        if start > self.end:  # it began anew, behind all that it had
            self.batches.clear()
            self.end = start
        self.start = max(self.start, start) if self.batches else start
        if end <= self.end:
            return []
        new = list(_read(self.log, self.end, end))
        self.batches += new
        self.end = end
        return new

    def between(self, first: int, end: int) -> Iterator[Batch]:
        """Those that have an offset in `[first, end)`."""
        at = max(0, bisect_left(self.batches, first, key=_base) - 1)
        for batch in self.batches[at:]:
            if batch.base >= end:
                return
            if batch.next > first:
                yield batch

    def _cut(self, end: int) -> None:
        while self.batches and self.batches[-1].next > end:
            self.batches.pop()
        self.end = end
        self.start = min(self.start, end)


def _base(batch: Batch) -> int:
    return batch.base


def _read(log: Log, offset: int, end: int) -> Iterator[Batch]:
    while offset < end:
        read = log.read(offset, READ_BYTES, end_offset=end)
        if read is None:
            return
        content = read.slice.read()
        read.slice.release()
        position = 0
        while position < len(content):
            base, length, epoch, _, crc, _, last_delta = _HEAD.unpack_from(content, position)
            position += _LENGTH_PREFIX + length
            following = base + last_delta + 1
            if following > offset:
                yield Batch(base, following, epoch, crc)
                offset = following
