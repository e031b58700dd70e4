"""A segment: a file of batches with its two indexes, named after the first offset it may hold.

Which batches go in, and when the next segment begins, is the log's to say.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from mmap import PAGESIZE
from pathlib import Path
from typing import Final, NamedTuple

from mypy_extensions import i64

from millstream_log.config import LogConfig
from millstream_log.disk import DISK, Disk, unlink_if_there
from millstream_log.errors import ColdRead, StorageError
from millstream_log.file_slice import FileSlice, SegmentFile
from millstream_log.offset_index import OffsetIndex
from millstream_log.page_cache import NotResident, Reader
from millstream_log.scan import HEADERS_CHUNK, scan_checked, scan_headers
from millstream_log.segment_swap import DELETED
from millstream_log.shortened import Shortened
from millstream_log.time_index import TimeIndex
from millstream_log.timestamps import find_in_batch
from millstream_log.transaction_index import TransactionIndex
from millstream_wire.records import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, RecordsError, parse_header

logger = logging.getLogger(__name__)

RELATIVE_OFFSETS: Final = (1 << 31) - 1
_REMEMBERED_POSITIONS: Final = 16
_FEW_BATCHES: Final = 4  # for one read


class Read(NamedTuple):
    """Whole batches of a segment; `next_offset` is where the next read goes on."""

    slice: FileSlice
    next_offset: int


class TimestampedOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


class Segment:
    """Invariant: the file's first `size` bytes are whole, intact batches, their offsets in `[base_offset, end_offset)`."""

    __slots__ = (
        "_bytes_since_index",
        "_file",
        "_first_timestamp",
        "_index_bytes",
        "_positions",
        "aborted",
        "base_offset",
        "created_ms",
        "disk",
        "end_offset",
        "index",
        "jitter_ms",
        "log_path",
        "max_timestamp",
        "max_timestamp_offset",
        "size",
        "times",
    )

    def __init__(
        self, directory: Path, base_offset: int, *, created_ms: int, suffix: str = "", disk: Disk = DISK
    ) -> None:
        """`suffix`: of the names of a segment that is not yet part of its log."""
        name = f"{base_offset:020d}"
        self.disk = disk
        self.base_offset: i64 = base_offset
        self.end_offset: i64 = base_offset
        self.created_ms: i64 = created_ms
        self.log_path = directory / f"{name}.log{suffix}"
        self.index = OffsetIndex(directory / f"{name}.index{suffix}", base_offset, disk)
        self.times = TimeIndex(directory / f"{name}.timeindex{suffix}", base_offset, disk)
        self.aborted = TransactionIndex(directory / f"{name}.txnindex{suffix}", disk)
        self.jitter_ms: i64 = -1
        """By how much earlier than others this one rolls; -1 until it is drawn."""
        self.size: i64 = 0
        self.max_timestamp: i64 = NO_TIMESTAMP
        self.max_timestamp_offset: i64 = base_offset
        self._bytes_since_index: i64 = 0
        self._index_bytes: i64 = 0  # what the larger of the two indexes will need, one more entry included
        self._first_timestamp: i64 = NO_TIMESTAMP
        self._file: SegmentFile | None = None
        self._positions: dict[int, int] = {}  # where recent reads ended: the next ones start there

    @property
    def file(self) -> SegmentFile:
        if self._file is None:
            # Never made here: a thread that is late may read a log whose directory has got another log meanwhile.
            self._file = SegmentFile(self.log_path, os.O_RDWR, self.disk)
        return self._file

    # ---- writing ----

    def create(self, allocated: int = 0) -> None:
        """Make the file, with room for so many bytes: its name is what remembers the log's end while the segment is empty.

        What is allocated and not used goes when the segment is sealed, or when it is recovered.
        """
        self.index.delete()
        self.times.delete()
        self.aborted.delete()
        fd = self.disk.open(self.log_path, os.O_RDWR | os.O_CREAT)
        try:
            if allocated:
                self.disk.allocate(fd, allocated)
        finally:
            self.disk.close(fd)

    def must_roll_before(self, size: i64, last_offset: i64, max_timestamp: i64, config: LogConfig, now_ms: i64) -> bool:
        """Whether a batch of that size, end and time belongs into a new segment."""
        if last_offset - self.base_offset > RELATIVE_OFFSETS:
            return True
        if self.size == 0:
            return False
        if self.size + size > config.segment_bytes or self._index_bytes >= config.segment_index_bytes:
            return True
        age_ms_max = config.segment_ms
        if self.jitter_ms > 0:
            age_ms_max -= self.jitter_ms
        if max_timestamp >= 0 and self._first_timestamp >= 0:
            return max_timestamp - self._first_timestamp > age_ms_max
        return now_ms - self.created_ms > age_ms_max

    def append(
        self, batch: bytes | bytearray | memoryview, last_offset: i64, max_timestamp: i64, config: LogConfig
    ) -> None:
        """Write a stamped batch; after an error the file is as it was, and the error goes on."""
        position = self.size
        self._write(batch)
        self._note(position, len(batch), last_offset, max_timestamp, config)

    def append_run(self, batches: memoryview, headers: Sequence[BatchHeader], config: LogConfig) -> None:
        """As `append`, several that lie one after the other, in one write."""
        position: i64 = self.size
        self._write(batches)
        for header in headers:
            self._note(position, header.size, header.last_offset, header.max_timestamp, config)
            position += header.size

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        if self.index.wants_flush:
            self.flush_indexes()
        fd = self.file.fileno()
        try:
            self.disk.write(fd, data, self.size)
        except OSError:
            self.disk.ftruncate(fd, self.size)
            raise

    def flush_indexes(self) -> None:
        self.index.flush()
        self.times.flush()

    def seal(self) -> None:
        """Complete the indexes: no batch will follow, in this segment or in this process."""
        if os.stat(self.log_path).st_size != self.size:  # allocated ahead, or what a failed append could not take back
            self.disk.ftruncate(self.file.fileno(), self.size)
        if self.max_timestamp >= 0:
            self.times.add(self.max_timestamp, self.max_timestamp_offset)
        self.flush_indexes()

    def _note(self, position: i64, size: i64, last_offset: i64, max_timestamp: i64, config: LogConfig) -> None:
        """Account for a batch that is now in the file."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if position == 0:
            self._first_timestamp = max_timestamp
        if self._bytes_since_index > config.index_interval_bytes:
            self.index.add(last_offset, position)
            self.times.add(self.max_timestamp, self.max_timestamp_offset)
            self._index_bytes = max(self.index.size, self.times.size)
            self._bytes_since_index = 0
        self._bytes_since_index += size
        self.size = position + size
        self.end_offset = last_offset + 1

    # ---- reading ----

    def position_of(self, offset: int, read: Reader | None = None) -> int:
        """Return where the first batch that reaches `offset` starts; the segment's end if there is none."""
        if offset >= self.end_offset:
            return self.size
        position = self._positions.get(offset)
        if position is not None:
            return position
        read = read or self.disk.read
        for at, header in scan_headers(self.file.fileno(), self.index.position_of(offset, read), self.size, read):
            if header.last_offset >= offset:
                return at
        return self.size

    def read(
        self, offset: int, max_bytes: int, *, end_offset: int, min_one: bool, may_wait: bool = True
    ) -> Read | None:
        """Read whole batches from the one that holds `offset`, none that reaches past `end_offset`."""
        read = self.disk.read if may_wait else self.disk.read_at_once
        try:
            start = self.position_of(offset, read)
            limit = self.size if end_offset >= self.end_offset else self.position_of(end_offset, read)
            if start >= limit:
                return None
            if limit - start <= max_bytes:
                end, next_offset = limit, min(end_offset, self.end_offset)
            else:
                end, next_offset = self._whole_batches(start, start + max_bytes, read, min_one=min_one)
                if end == start:
                    return None
            self._remember(next_offset, end)
            return Read(FileSlice(self.file, start, end - start), next_offset)
        except NotResident as missing:
            raise ColdRead(self.log_path, missing.position, missing.length) from missing
        except (OSError, RecordsError) as error:
            raise StorageError(f"{self.log_path}: {error}") from error

    def find_timestamp(self, timestamp: int, *, from_offset: int, may_wait: bool = True) -> TimestampedOffset | None:
        """Find the first record at or after `from_offset` that is not older than `timestamp`."""
        try:
            return self._find_timestamp(timestamp, from_offset, self.disk.read if may_wait else self.disk.read_at_once)
        except NotResident as missing:
            raise ColdRead(self.log_path, missing.position, missing.length) from missing
        except (OSError, RecordsError) as error:
            raise StorageError(f"{self.log_path}: {error}") from error

    def _find_timestamp(self, timestamp: int, from_offset: int, read: Reader) -> TimestampedOffset | None:
        start = self.position_of(max(self.times.offset_before(timestamp, read), from_offset), read)
        for position, header in scan_headers(self.file.fileno(), start, self.size, read):
            if header.max_timestamp >= timestamp:
                found = find_in_batch(
                    read(self.file.fileno(), header.size, position), header, timestamp, from_offset - header.base_offset
                )
                if found is not None:
                    return TimestampedOffset(found[0], header.base_offset + found[1], header.leader_epoch)
        return None

    def header_at(self, position: int) -> BatchHeader:
        return parse_header(self.disk.read(self.file.fileno(), HEADER_SIZE, position))

    def headers(self, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from the one at `start` on; waits for the disk."""
        return scan_headers(self.file.fileno(), start, self.size, self.disk.read)

    def _whole_batches(self, start: int, limit: int, read: Reader, *, min_one: bool) -> tuple[int, int]:
        """Return end and next offset of the batches in `[start, limit)`, cut where the last one does not fit."""
        end, next_offset = start, -1
        fd = self.file.fileno()
        # Stepping over a few large batches costs less than the index.
        scan_from, chunk_bytes = start, HEADER_SIZE
        if start + _FEW_BATCHES * parse_header(read(fd, HEADER_SIZE, start)).size < limit:
            scan_from, chunk_bytes = max(start, self.index.position_before(limit, read)), HEADERS_CHUNK
        for position, header in scan_headers(fd, scan_from, self.size, read, chunk_bytes):
            if position + header.size > limit and not (min_one and position == start):
                if next_offset < 0 and position > start:
                    return position, header.base_offset
                break
            end, next_offset = position + header.size, header.next_offset
            if end >= limit:
                break
        return end, next_offset

    def _remember(self, offset: int, position: int) -> None:
        if len(self._positions) >= _REMEMBERED_POSITIONS and offset not in self._positions:
            del self._positions[next(iter(self._positions))]
        self._positions[offset] = position

    # ---- opening, recovering, cutting ----

    def load(self, end_offset: int | None) -> bool:
        """Take over a segment that was closed; return False if its indexes have to be made anew.

        The end offset is known for all but a log's last segment, which is read from its last index entry on.
        """
        self.size = os.stat(self.log_path).st_size
        if not (self.index.load() and self.times.load()) or self.index.last_position > self.size:
            return False
        largest = self.times.largest
        if largest is not None:
            self.max_timestamp, self.max_timestamp_offset = largest
        elif self.size:
            return False  # a segment is closed with its largest timestamp in the index
        if end_offset is not None:
            self.end_offset = end_offset
            return True
        self._load_tail()
        return True

    def _load_tail(self) -> None:
        start = self.index.last_position
        for _, header in self.headers(start):
            self.end_offset = header.next_offset
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset
        if self.size:
            self._first_timestamp = self.header_at(0).max_timestamp
        self._bytes_since_index = self.size - start
        self._index_bytes = max(self.index.size, self.times.size)

    def recover(self, config: LogConfig, *, trusted_offset: int) -> int:
        """Check every batch from `trusted_offset` on, cut the file before the first that is not whole.

        Memory is not asked: after a failed flush it may hold what the disk lost, and the next flush would take it for
        written. The indexes are made anew for what is checked. Return how many bytes were cut.
        """
        file_size = os.stat(self.log_path).st_size
        start = self._trust(min(trusted_offset, self._indexed_offset(file_size)))
        fd = self.file.fileno()
        self.disk.forget(fd, start - start % PAGESIZE)  # memory goes in whole pages
        for position, header in scan_checked(fd, start, file_size, self.disk.read, first_offset=self.base_offset):
            self._note(position, header.size, header.last_offset, header.max_timestamp, config)
        if self.size == start > 0:  # not even the batch that was trusted is whole
            return self.recover(config, trusted_offset=self.base_offset)
        if self.size < file_size:
            self.disk.ftruncate(fd, self.size)
            self.disk.fdatasync(fd)  # no flush looks at it again if all that is left was flushed before
        if self.size:
            self._first_timestamp = self.header_at(0).max_timestamp
        if self.max_timestamp >= 0:  # as a closed segment has it: the next clean start takes it from there
            self.times.add(self.max_timestamp, self.max_timestamp_offset)
        try:
            self.flush_indexes()
        except OSError as error:  # a full disk can still be read: the entries stay in memory until they can be written
            logger.warning("index not written log=%s error=%s", self.log_path, error)
        return file_size - self.size

    def _indexed_offset(self, file_size: int) -> int:
        """How far both indexes reach; the segment's base if one of them cannot be trusted."""
        sound = self.index.load() and self.times.load() and self.index.last_position < file_size
        largest = self.times.largest if sound and self.index.is_sorted() and self.times.is_sorted() else None
        return largest[1] if largest is not None else self.base_offset

    def _trust(self, offset: int) -> int:
        """Keep the indexes up to the last entry before `offset`; return where that entry's batch starts."""
        entry = self.index.entry_before(offset) if offset > self.base_offset else None
        self._bytes_since_index = 0
        if entry is None:
            self.index.reset()
            self.times.reset()
            self.size, self.end_offset = 0, self.base_offset
            self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset
            return 0
        last_offset, position = entry
        self.index.truncate_to(position + 1)
        self.times.truncate_to(last_offset + 1)
        self.size = position
        largest = self.times.largest
        if largest is not None:
            self.max_timestamp, self.max_timestamp_offset = largest
        return position

    def shorten(self, to: Shortened) -> None:
        """Forget what comes after; `unsettled` of the indexes and a cut of the file make the disk follow."""
        self.index.forget_after(to.index_entries, to.last_index_entry)
        self.times.forget_after(to.time_entries, to.last_time_entry)
        self.aborted.forget_after(to.end_offset)
        self._positions.clear()
        self.size, self.end_offset = to.size, to.end_offset
        self.max_timestamp, self.max_timestamp_offset = to.max_timestamp, to.max_timestamp_offset
        if self.max_timestamp >= 0:  # as `seal` does: no batch will follow in this segment
            self.times.add(self.max_timestamp, self.max_timestamp_offset)

    def delete(self) -> None:
        """Remove the files; slices in flight keep theirs open."""
        for path in (self.log_path, self.index.path, self.times.path, self.aborted.path):
            unlink_if_there(self.disk, path)
        self._file = None

    def doom(self) -> list[Path]:
        """Rename the files to what the next start removes; return them, to be removed when nobody waits for the disk."""
        doomed = []
        for path in (self.log_path, self.index.path, self.times.path, self.aborted.path):
            target = path.with_name(path.name + DELETED)
            with suppress(FileNotFoundError):  # few segments have an index of aborted transactions
                self.disk.rename(path, target)
                doomed.append(target)
        self._file = None
        return doomed

    def drop_suffix(self) -> None:
        """Follow the files, which have got the names of a segment of the log."""
        self._file = None
        self.log_path = self.log_path.with_suffix("")
        for index in (self.index, self.times, self.aborted):
            index.path = index.path.with_suffix("")

    def close(self) -> None:
        self._file = None
