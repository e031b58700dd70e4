"""One cleaning of one log, in small steps that may run in a thread: what it reads is settled, what it writes is its own.

It changes nothing in the log. Each group of segments ends as a `Cleaned`, whose files wait under `.cleaned` names for
`swap_in` on the event loop.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from millstream_log.cleaner.key_map import KeyMap
from millstream_log.cleaner.plan import Cleanable, Compaction, group_segments
from millstream_log.cleaner.retention import BATCH_BYTES_MAX, AbortedBatches, BatchRetention, LastBatch
from millstream_log.errors import CorruptFile
from millstream_log.log import Log
from millstream_log.segment import Segment
from millstream_log.segment_swap import CLEANED
from millstream_wire.late_dataclass import dataclass
from millstream_wire.records import (
    HEADER_SIZE,
    BatchHeader,
    RecordsError,
    check,
    encoded_records,
    parse_header,
    records_of,
)

_READ_BYTES = 256 * 1024
_STEP_BYTES = 64 * 1024  # a step holds the interpreter's lock for about as long as this takes


@dataclass(frozen=True, slots=True)
class Worked:
    """So many bytes were read and written since the last step."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Cleaned:
    """One segment, complete and on the disk, that says what is left of `gone`."""

    gone: tuple[Segment, ...]
    put: Segment
    generation: int
    """The log's when the cleaning began: if it was cut since, nothing of this may take its place."""


Step: TypeAlias = Worked | Cleaned


class Cleaning:
    """Made on the event loop; after that `steps` touches nothing that the loop changes."""

    def __init__(
        self, log: Log, cleanable: Cleanable, compaction: Compaction, *, keys_bytes_max: int, now_ms: int
    ) -> None:
        self._log = log
        self._generation = log.generation
        self._directory = log.directory
        self._disk = log.disk
        self._config = log.config
        self._cleanable = cleanable
        self._compaction = compaction
        self._now_ms = now_ms
        self._keys = KeyMap(keys_bytes_max)
        self._segments = [segment for segment in log.segments if segment.base_offset < cleanable.end_offset]
        self._producers: Mapping[int, LastBatch] = {
            entry.producer_id: LastBatch(entry.last_offset, entry.epoch) for entry in log.producers
        }
        self._aborted = AbortedBatches(
            log.aborted_transactions(self._segments[0].base_offset, cleanable.end_offset) if self._segments else ()
        )
        self._reading = log.directory
        self._unreported_bytes = 0
        self.cleaned_end_offset = cleanable.first_dirty_offset
        """After the last step: what lies before it is clean."""

    def steps(self) -> Iterator[Step]:
        """Learn the dirty keys, then write what stays of each group; raise `CorruptFile` if a segment cannot be read.

        They end early once the log is cut.
        """
        try:
            yield from self._steps()
        except (RecordsError, OSError) as error:
            if self.is_void:
                return  # what it read was cut off meanwhile
            if isinstance(error, OSError):
                raise
            raise CorruptFile(f"{self._reading}: {error}") from error

    @property
    def is_void(self) -> bool:
        """Whether the log has been cut since this began: then what it found says nothing about the log."""
        return self._log.generation != self._generation

    def _steps(self) -> Iterator[Step]:
        yield from self._map_keys()
        retention = BatchRetention(
            self._keys,
            self._aborted,
            self._producers,
            mapped_end_offset=self.cleaned_end_offset,
            delete_retention_ms=self._compaction.delete_retention_ms,
            now_ms=self._now_ms,
        )
        reached = [segment for segment in self._segments if segment.base_offset < self.cleaned_end_offset]
        for group in group_segments(
            reached, segment_bytes=self._config.segment_bytes, segment_index_bytes=self._config.segment_index_bytes
        ):
            if self.is_void:
                return
            yield from self._clean(group, retention)

    def _map_keys(self) -> Iterator[Worked]:
        for segment in self._segments:
            if segment.end_offset <= self._cleanable.first_dirty_offset:
                continue
            self._reading = segment.log_path
            for header, batch in read_batches(segment):
                if header.last_offset < self._cleanable.first_dirty_offset:
                    continue
                if not self._keys.has_room_for(header.record_count):
                    return
                unfolded = self._map_batch(batch, header)
                self.cleaned_end_offset = header.next_offset
                yield from self._report(max(len(batch), unfolded))
            self.cleaned_end_offset = segment.end_offset

    def _map_batch(self, batch: bytes, header: BatchHeader) -> int:
        """Note the offsets of a batch's keys; return how many bytes that took to look at."""
        if header.is_control or self._aborted.has(header):
            return 0
        payload = records_of(batch, header, limit=BATCH_BYTES_MAX)
        for record in encoded_records(payload, header):
            if record.key is not None:
                self._keys.put(record.key, header.base_offset + record.offset_delta)
        return len(payload)

    def _clean(self, group: Sequence[Segment], retention: BatchRetention) -> Iterator[Step]:
        target = Segment(
            self._directory, group[0].base_offset, created_ms=group[-1].created_ms, suffix=CLEANED, disk=self._disk
        )
        target.delete()
        target.create()
        for segment in group:
            self._reading = segment.log_path
            for header, batch in read_batches(segment):
                kept = retention.retain(batch, header)
                if kept is not None:
                    max_timestamp = header.max_timestamp if kept is batch else parse_header(kept).max_timestamp
                    target.append(kept, header.last_offset, max_timestamp, self._config)
                yield from self._report(len(batch) + (len(kept) if kept is not None else 0))
        target.seal()
        for path in (target.log_path, target.index.path, target.times.path):
            self._disk.sync_file(path)
        target.close()
        target.end_offset = group[-1].end_offset
        yield Cleaned(tuple(group), target, self._generation)

    def _report(self, count: int) -> Iterator[Worked]:
        self._unreported_bytes += count
        if self._unreported_bytes >= _STEP_BYTES:
            worked, self._unreported_bytes = Worked(self._unreported_bytes), 0
            yield worked


def read_batches(segment: Segment) -> Iterator[tuple[BatchHeader, bytes]]:
    """Read a closed segment batch by batch, each checked."""
    disk = segment.disk
    fd = disk.open(segment.log_path, os.O_RDONLY)
    try:
        chunk, start, position = b"", 0, 0
        while position < segment.size:
            left = segment.size - position
            if start + _size_at(chunk, start) > len(chunk):
                chunk, start = disk.read(fd, min(_READ_BYTES, left), position), 0
                size = _size_at(chunk, 0)
                if size > len(chunk):
                    chunk = disk.read(fd, min(size, left), position)
            batch = chunk[start : start + _size_at(chunk, start)]
            yield check(batch), batch
            start += len(batch)
            position += len(batch)
    finally:
        disk.close(fd)


def _size_at(chunk: bytes, start: int) -> int:
    """The size of the batch at `start`; at least a header's, if that is not all there."""
    return parse_header(chunk, start).size if len(chunk) - start >= HEADER_SIZE else HEADER_SIZE
