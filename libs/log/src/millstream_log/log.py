"""A partition's log: segments in order, appended to at the end, read from anywhere, cut at either side.

Synchronous, for one event loop: appends go to the page cache, and so do reads that may not wait. It validates no records
(the caller has checked the batch) and knows no replication; the high watermark is the broker's.
"""

import os
from pathlib import Path

from mypy_extensions import i64

from millstream_log.append_result import NO_APPEND_TIME, AppendResult
from millstream_log.config import LogConfig
from millstream_log.disk import DISK, Disk
from millstream_log.errors import OffsetOutOfRange, StorageError
from millstream_log.flush import Flush, FlushState
from millstream_log.leader_epochs import EpochEnd, EpochStart
from millstream_log.producer_snapshot import delete_snapshots, store_snapshot
from millstream_log.producer_state import ProducerEntry
from millstream_log.recovery import Recovered, check_control, recover, replay
from millstream_log.segment import Read, Segment, TimestampedOffset
from millstream_log.segments import Segments
from millstream_log.transaction_index import AbortedTransaction
from millstream_wire.records import BatchHeader, parse_header, stamp, stamp_log_append_time

REPLAYED_BYTES = 16 * 1024 * 1024


class Log:
    """Invariants: `log_start_offset <= recovery_point <= log_end_offset` but for a start that was moved past the recovery point."""

    __slots__ = (
        "_epochs",
        "_flushes",
        "_producers",
        "_segments",
        "config",
        "directory",
        "disk",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(
        self, directory: Path, config: LogConfig, found: Recovered, *, log_start_offset: int, recovery_point: int
    ) -> None:
        self.disk = found.segments[0].disk
        self.directory = directory
        self.config = config
        self._segments = Segments(found.segments)
        self._producers = found.producers
        self._epochs = found.epochs
        self.log_end_offset: i64 = found.segments[-1].end_offset
        self.log_start_offset: i64 = min(max(log_start_offset, found.segments[0].base_offset), self.log_end_offset)
        self._flushes = FlushState(min(recovery_point, self.log_end_offset))

    @classmethod
    def open(
        cls,
        directory: Path,
        config: LogConfig,
        *,
        now_ms: int,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        clean: bool = False,
        may_have_gaps: bool = False,
        disk: Disk = DISK,
    ) -> "Log":
        """Open the log in `directory`, which is made if there is none, and recover it unless it was closed cleanly.

        Only a log that was ever compacted may have gaps between its offsets; in others they are losses.
        """
        found = recover(
            directory,
            config,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=clean,
            may_have_gaps=may_have_gaps,
            now_ms=now_ms,
            disk=disk,
        )
        return cls(directory, config, found, log_start_offset=log_start_offset, recovery_point=recovery_point)

    def append(
        self, batch: bytes | bytearray | memoryview, header: BatchHeader, *, leader_epoch: i64, now_ms: i64
    ) -> AppendResult:
        """Append a checked batch as the leader: number it, stamp it (in place if it can be written to), write it.

        Raises what its producer did wrong, or `StorageError`; the log is then as it was before, unless it was a flush that failed.
        """
        self._refuse_if_failed()  # first: what was appended and then lost must not be taken for a duplicate
        if header.producer_id >= 0:
            original = self._producers.check(header)
            if original is not None:
                return AppendResult(original.base_offset, original.last_offset, original.timestamp, True)
        base_offset = self.log_end_offset
        append_time: i64 = NO_APPEND_TIME
        max_timestamp = header.max_timestamp
        if self.config.takes_append_time:
            append_time = max_timestamp = now_ms
            batch = stamp_log_append_time(batch, now_ms)
        batch = stamp(batch, base_offset, leader_epoch)
        last_offset = base_offset + header.last_offset_delta
        self._write(batch, base_offset, last_offset, max_timestamp, leader_epoch, now_ms)
        if header.producer_id >= 0:
            self._producers.update(header, base_offset, timestamp=max_timestamp, now_ms=now_ms)
        self._flush_if_due()
        return AppendResult(base_offset, last_offset, append_time, False)

    def append_control(
        self, batch: bytearray | memoryview, header: BatchHeader, *, leader_epoch: int, now_ms: int
    ) -> AppendResult:
        """Append the leader's own control batch: the end of a transaction."""
        self._refuse_if_failed()
        check_control(self._producers, header, batch)
        stamp(batch, self.log_end_offset, leader_epoch)
        stamped = parse_header(batch)
        self._write_stamped(batch, stamped, now_ms)
        return AppendResult(stamped.base_offset, stamped.last_offset, NO_APPEND_TIME, False)

    def append_as_follower(self, batch: bytes | bytearray | memoryview, header: BatchHeader, *, now_ms: int) -> None:
        """Append a checked batch as its leader numbered and stamped it."""
        if header.base_offset < self.log_end_offset:
            raise OffsetOutOfRange(f"offset {header.base_offset} is before the log's end {self.log_end_offset}")
        self._refuse_if_failed()
        self._write_stamped(batch, header, now_ms)

    def _write_stamped(self, batch: bytes | bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        self._write(batch, header.base_offset, header.last_offset, header.max_timestamp, header.leader_epoch, now_ms)
        try:
            replay(self._producers, self._segments.last, header, batch, now_ms)
        except OSError as error:  # an aborted transaction that is not in the index would be read as committed
            self.fail(error)
            raise StorageError(f"{self.directory}: {error}") from error
        self._flush_if_due()

    def _refuse_if_failed(self) -> None:
        failure = self._flushes.failure
        if failure is not None:
            raise StorageError(f"{self.directory}: an earlier flush failed: {failure}")

    def _flush_if_due(self) -> None:
        """Only once the producers know the batch: a flush may store what they know as all that the log holds."""
        if self.log_end_offset - self._flushes.recovery_point >= self.config.flush_messages:
            self.flush()

    def _write(
        self,
        batch: bytes | bytearray | memoryview,
        base_offset: i64,
        last_offset: i64,
        max_timestamp: i64,
        leader_epoch: i64,
        now_ms: i64,
    ) -> None:
        """Write a batch given the few of its numbers that matter here: this runs for every produce."""
        config = self.config
        try:
            segment = self._segments.last
            if segment.must_roll_before(len(batch), last_offset, max_timestamp, config, now_ms):
                segment = self._roll(base_offset, now_ms)
            epochs = self._epochs
            if leader_epoch > epochs.latest or not epochs.is_stored:
                epochs.assign(leader_epoch, base_offset)
                self._store_epochs()
            segment.append(batch, last_offset, max_timestamp, config)
        except OSError as error:
            raise StorageError(f"{self.directory}: {error}") from error
        self.log_end_offset = last_offset + 1

    def roll(self, now_ms: int) -> None:
        """Begin a new segment now, unless the last one is empty."""
        if self._segments.last.size:
            self._roll(self.log_end_offset, now_ms)

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        full = self._segments.last
        full.seal()
        self._store_producers(base_offset)
        full.end_offset = base_offset
        segment = Segment(self.directory, base_offset, created_ms=now_ms, disk=self.disk)
        segment.create()
        self._flushes.names_made += 1
        if full.size == 0:  # only its base offset did not fit what comes next
            full.delete()
        self._segments.add(segment)
        return segment

    # ---- reading ----

    def read(
        self, offset: int, max_bytes: int, *, min_one: bool = True, end_offset: int | None = None, may_wait: bool = True
    ) -> Read | None:
        """Return whole batches from the one that holds `offset` on, all before `end_offset`; None if there are none.

        At most `max_bytes`, except that with `min_one` the first batch comes whatever its size. A read ends with its segment; the
        first batch may begin before `offset`, and clients skip that. ColdRead where finding it has to wait but may not.
        """
        end = self.log_end_offset if end_offset is None else min(end_offset, self.log_end_offset)
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(f"offset {offset} is outside [{self.log_start_offset}, {self.log_end_offset}]")
        return self._segments.read(offset, max_bytes, min_one=min_one, end_offset=end, may_wait=may_wait)

    def offset_for_timestamp(self, timestamp: int, *, may_wait: bool = True) -> TimestampedOffset | None:
        """Find the first record that is not older than `timestamp`."""
        return self._segments.find_timestamp(timestamp, from_offset=self.log_start_offset, may_wait=may_wait)

    def offset_of_max_timestamp(self, *, may_wait: bool = True) -> TimestampedOffset | None:
        """Find the first record that carries the largest timestamp of all."""
        largest = self._segments.largest_timestamp
        return self.offset_for_timestamp(largest, may_wait=may_wait) if largest >= 0 else None

    # ---- what it knows of leaders and producers ----

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        return self._epochs.entries

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        return self._epochs.end_of(epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int:
        return self._epochs.epoch_of(offset)

    @property
    def producers(self) -> list[ProducerEntry]:
        return self._producers.entries

    def producer(self, producer_id: int) -> ProducerEntry | None:
        return self._producers.entry(producer_id)

    def expire_producers(self, now_ms: int, expiration_ms: int) -> None:
        self._producers.expire(now_ms, expiration_ms)

    @property
    def first_unstable_offset(self) -> int | None:
        return self._producers.first_unstable_offset

    def aborted_transactions(self, first_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Those that have records in `[first_offset, end_offset)`."""
        return self._segments.aborted_transactions(first_offset, end_offset)

    # ---- size, cutting, flushing, closing ----

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self._segments.as_tuple()

    def replace_segments(self, gone: tuple[Segment, ...], put: Segment) -> None:
        """Let a cleaned segment stand for those it was made of."""
        self._segments.replace(gone, put)

    @property
    def size(self) -> int:
        return self._segments.size

    def advance_start(self, offset: int) -> None:
        """Let records before `offset` go (DeleteRecords); their segments go with the next retention."""
        if offset > self.log_end_offset:
            raise OffsetOutOfRange(f"offset {offset} is after the log's end {self.log_end_offset}")
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self._epochs.truncate_start(offset)
            self._store_epochs()

    def doom_segments(self, count: int) -> list[Path]:
        """Let the oldest segments go; the last one stays, so roll first if all of it has to go. Their files, for the caller to remove."""
        doomed = [path for segment in self._segments.drop_oldest(count) for path in segment.doom()]
        self.advance_start(self._segments.first.base_offset)
        delete_snapshots(self.directory, before=self._segments.first.base_offset, disk=self.disk)
        return doomed

    def truncate_to(self, offset: int, *, now_ms: int) -> None:
        """Cut the log so that it ends at `offset` or, if a batch spans it, before that batch."""
        if offset >= self.log_end_offset:
            return
        self._flushes.generation += 1
        self._flushes.names_made += 1
        segments = list(self._segments)
        while len(segments) > 1 and segments[-1].base_offset >= offset:
            segments.pop().delete()
        segments[-1].truncate_to(offset, self.config)
        end_offset = segments[-1].end_offset
        if end_offset < self.log_start_offset:  # what is left had been deleted by request
            self.truncate_fully(self.log_start_offset, now_ms=now_ms)
            return
        self._epochs.truncate_end(end_offset)
        self._epochs.store()
        delete_snapshots(self.directory, after=end_offset, disk=self.disk)
        self._reload(now_ms)

    def truncate_fully(self, start_offset: int, *, now_ms: int) -> None:
        """Drop everything and start anew at `start_offset`."""
        self._flushes.generation += 1
        self._flushes.names_made += 1
        for segment in self._segments:
            segment.delete()
        delete_snapshots(self.directory, after=-1, disk=self.disk)
        self._epochs.truncate_end(0)
        self._epochs.store()
        self.log_start_offset = start_offset
        self._reload(now_ms)

    def _reload(self, now_ms: int) -> None:
        """Take producers and epochs from what is left: they must not remember what was cut off."""
        found = recover(
            self.directory,
            self.config,
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start_offset,
            now_ms=now_ms,
            disk=self.disk,
        )
        self._segments.take(found.segments)
        self._producers, self._epochs = found.producers, found.epochs
        self.log_end_offset = found.segments[-1].end_offset
        self._flushes.recovery_point = min(self.recovery_point, self.log_end_offset)

    @property
    def recovery_point(self) -> int:
        """Everything before it is on the disk."""
        return self._flushes.recovery_point

    def start_flush(self) -> Flush:
        """Say what has to reach the disk; perform it here or in a thread, then hand it to `finish_flush`. Nothing does after a failure."""
        self._refuse_if_failed()
        dirty = [segment for segment in self._segments if segment.end_offset > self._flushes.recovery_point]
        # Only complete indexes: the last segment's are made anew if they turn out to be behind.
        paths = [path for segment in dirty[:-1] for path in (segment.index.path, segment.times.path)]
        if self._flushes.names_flushed < self._flushes.names_made:
            paths.append(self._epochs.path)  # an epoch without its beginning would be a wrong answer to who follows
        return Flush(
            self._flushes,
            self.disk,
            files=tuple(segment.file for segment in dirty),
            paths=tuple(paths),
            directory=self.directory,
            end_offset=self.log_end_offset,
        )

    def finish_flush(self, flush: Flush) -> None:
        """Move the recovery point, unless the log was cut meanwhile or any flush has failed."""
        state = self._flushes
        if flush.generation != state.generation or state.failure is not None:
            return
        state.recovery_point = max(state.recovery_point, flush.end_offset)
        state.names_flushed = max(state.names_flushed, flush.names)
        segment = self._segments.last  # a restart must not have to read much to know the producers again
        if segment.size - segment.position_of(self._producers.snapshot_offset) > REPLAYED_BYTES:
            self._store_producers(self.log_end_offset)

    def _store_producers(self, offset: int) -> None:
        self._segments.last.aborted.sync()  # replay from the snapshot on would not find these again
        store_snapshot(self.directory, self._producers, offset, self.disk)

    def _store_epochs(self) -> None:
        self._epochs.store()
        self._flushes.names_made += 1

    def fail(self, error: OSError) -> None:
        """Take no more appends: what is in the log and what is known of it may differ."""
        if self._flushes.failure is None:
            self._flushes.failure = error

    def flush(self) -> None:
        """Wait until everything appended so far is on the disk; a failure is final, for the kernel forgets it."""
        flush = self.start_flush()
        try:
            flush.perform()
        except OSError as error:
            raise StorageError(f"{self.directory}: {error}") from error
        self.finish_flush(flush)

    def close(self) -> None:
        """Leave the directory so that it opens without recovery."""
        self._segments.last.seal()
        self._store_epochs()
        self.flush()
        self._store_producers(self.log_end_offset)
        self.abandon()

    def abandon(self) -> None:
        """Let go of the files and leave them as a crash would."""
        for segment in self._segments:
            segment.close()

    def check(self) -> None:
        """Verify the invariants; tests call it after each step."""
        self._segments.check()
        assert self.log_start_offset <= self.log_end_offset == self._segments.last.end_offset
        assert all(not s.log_path.exists() or os.stat(s.log_path).st_size == s.size for s in self._segments)
