"""The writing side of a log: a batch gets its numbers, goes to the newest segment, and to the disk when it is time."""

import logging
import random
from collections.abc import Sequence
from pathlib import Path

from mypy_extensions import i64

from millstream_log.append_result import NO_APPEND_TIME, AppendResult, Copied
from millstream_log.config import LogConfig
from millstream_log.errors import OffsetOutOfRange, StorageError
from millstream_log.flush import GIVEN_UP, UNDER_TRUNCATION, Flush, FlushState
from millstream_log.gap_mark import allow_gaps, forget_short_segments, has_gaps, short_before
from millstream_log.producer_snapshot import store_snapshot
from millstream_log.recovery import Recovered
from millstream_log.replay import begun_at, check_control, replay
from millstream_log.segment import RELATIVE_OFFSETS, Segment
from millstream_log.segments import Segments
from millstream_log.truncation_mark import load_mark
from millstream_wire.records import BatchHeader, parse_header, stamp, stamp_log_append_time

logger = logging.getLogger(__name__)

REPLAYED_BYTES = 16 * 1024 * 1024


class LogWriter:
    """What a `Log` is, as far as it is written to.

    Invariants: `log_start_offset <= recovery_point <= log_end_offset` but for a start that was moved past the recovery point.
    """

    __slots__ = (
        "_epochs",
        "_flushes",
        "_has_gaps",
        "_producers",
        "_random",
        "_segments",
        "_short_before",
        "config",
        "directory",
        "disk",
        "log_end_offset",
        "log_start_offset",
        "truncated_to",
    )

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        found: Recovered,
        generator: random.Random,
        *,
        recovery_point: int,
    ) -> None:
        self.disk = found.segments[0].disk
        self._random = generator
        self.directory = directory
        self.config = config
        self._segments = Segments(found.segments)
        self._producers = found.producers
        self._epochs = found.epochs
        self.log_end_offset: i64 = found.segments[-1].end_offset
        self.log_start_offset: i64 = found.log_start_offset
        self._has_gaps = has_gaps(directory)
        self._short_before = short_before(directory, self.disk)
        """Segments that begin there or later end where the next one begins; as the mark on the disk says."""
        mark = load_mark(directory, self.disk)
        self.truncated_to: int | None = None if mark is None else mark.checkpoint_offset_max
        """What the data directory's checkpoints say beyond it was true of records that are gone; None once they know."""
        self._flushes = FlushState(min(recovery_point, self.log_end_offset))

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
        if header.base_offset > self.log_end_offset:
            self.allow_gaps()
        self._write_stamped(batch, header, now_ms)

    def append_all_as_follower(self, batches: memoryview, headers: Sequence[BatchHeader], *, now_ms: int) -> Copied:
        """Append checked batches, which lie one after the other, as their leader numbered and stamped them.

        Where the disk refuses one of them, those before it are told, and whoever tries again meets the refusal.
        """
        self._refuse_if_failed()
        ended: list[tuple[int, int]] = []
        at, position = 0, 0
        while at < len(headers):
            run = headers[at : at + self._run_length(headers, at, now_ms)]
            size = sum(header.size for header in run)
            try:
                self._append_run(batches[position : position + size], run, ended, now_ms)
            except StorageError:
                if at == 0:
                    raise
                break
            at += len(run)
            position += size
        return Copied(at, position, ended)

    def _run_length(self, headers: Sequence[BatchHeader], at: int, now_ms: i64) -> int:
        """How many batches from `at` on may go to the last segment in one write; one that begins a segment or an epoch goes alone."""
        segment, config, first = self._segments.last, self.config, headers[at]
        if not segment.size or first.leader_epoch != self._epochs.latest or not self._epochs.is_stored:
            return 1
        end, size, next_offset = at, 0, first.base_offset
        while end < len(headers):
            header = headers[end]
            size += header.size
            follows = header.base_offset == next_offset or (self._has_gaps and header.base_offset > next_offset)
            if not follows or header.leader_epoch != first.leader_epoch:
                break
            if segment.must_roll_before(size, header.last_offset, header.max_timestamp, config, now_ms):
                break
            end += 1
            next_offset = header.next_offset
        return max(1, end - at)

    def _append_run(
        self, batches: memoryview, run: Sequence[BatchHeader], ended: list[tuple[int, int]], now_ms: int
    ) -> None:
        """Append batches that belong together, and note in `ended` the transactions that they end."""
        if len(run) == 1:
            header = run[0]
            begun = begun_at(self._producers, header)
            self.append_as_follower(batches, header, now_ms=now_ms)
            if begun >= 0:
                ended.append((header.last_offset, begun))
            return
        if run[0].base_offset < self.log_end_offset:
            raise OffsetOutOfRange(f"offset {run[0].base_offset} is before the log's end {self.log_end_offset}")
        if run[0].base_offset > self.log_end_offset:
            self.allow_gaps()
        try:
            self._segments.last.append_run(batches, run, self.config)
        except OSError as error:
            raise StorageError(f"{self.directory}: {error}") from error
        self.log_end_offset = run[-1].next_offset
        position = 0
        for header in run:
            begun = begun_at(self._producers, header)
            self._replay(header, batches[position : position + header.size], now_ms)
            if begun >= 0:
                ended.append((header.last_offset, begun))
            position += header.size
        self._flush_if_due()

    def allow_gaps(self, *, short_before: int = 0) -> None:
        """Note for ever that offsets may be missing: to be done before they are, by cleaning or by what a leader sends.

        `short_before`: also at the end of segments that begin before it.
        """
        if not self._has_gaps or short_before > self._short_before:
            before = max(short_before, self._short_before)
            try:
                allow_gaps(self.directory, before, self.disk)
            except OSError as error:
                raise StorageError(f"{self.directory}: {error}") from error
            self._has_gaps = True
            self._short_before = before

    def forget_short_segments(self) -> None:
        """The newest segment grows from here on, and what follows it is new: neither is what was there when the mark was made."""
        base_offset = self._segments.last.base_offset
        if self._short_before > base_offset:
            try:
                forget_short_segments(self.directory, base_offset, self.disk)
            except OSError as error:
                raise StorageError(f"{self.directory}: {error}") from error
            self._short_before = base_offset

    def _write_stamped(self, batch: bytes | bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        self._write(batch, header.base_offset, header.last_offset, header.max_timestamp, header.leader_epoch, now_ms)
        self._replay(header, batch, now_ms)
        self._flush_if_due()

    def _replay(self, header: BatchHeader, batch: bytes | bytearray | memoryview, now_ms: int) -> None:
        try:
            aborted = replay(self._producers, header, batch, now_ms)
            if aborted is not None:
                self._segments.last.aborted.add(aborted)
        except OSError as error:  # an aborted transaction that is not in the index would be read as committed
            self.fail(error)
            raise StorageError(f"{self.directory}: {error}") from error

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
            if config.segment_jitter_ms > 0 and segment.jitter_ms < 0:
                segment.jitter_ms = self._random.randrange(min(config.segment_jitter_ms, config.segment_ms))
            if segment.must_roll_before(len(batch), last_offset, max_timestamp, config, now_ms):
                segment = self._roll_before(base_offset, last_offset, now_ms)
            epochs = self._epochs
            if leader_epoch > epochs.latest or not epochs.is_stored:
                epochs.assign(leader_epoch, base_offset)
                self._store_epochs()
            segment.append(batch, last_offset, max_timestamp, config)
        except OSError as error:
            self._epochs.truncate_end(self.log_end_offset)  # an epoch that wrote nothing leaves no trace
            raise StorageError(f"{self.directory}: {error}") from error
        self.log_end_offset = last_offset + 1

    def _roll_before(self, base_offset: int, last_offset: int, now_ms: int) -> Segment:
        """Begin a segment at the log's end, also where a gap follows: if the batch is refused after all, the log ends there as before.

        Only behind a gap that is wider than a segment's offsets it begins behind it, and so the log ends there at once.
        """
        if last_offset - self.log_end_offset <= RELATIVE_OFFSETS:
            return self._roll(self.log_end_offset, now_ms)
        self.begin_segment(base_offset, now_ms)
        return self._segments.last

    def roll(self, now_ms: int) -> None:
        """Begin a new segment now, unless the last one is empty."""
        self._refuse_if_failed()
        if self._segments.last.size:
            self._roll(self.log_end_offset, now_ms)

    def begin_segment(self, base_offset: int, now_ms: int) -> None:
        """End the log behind a gap: there was something up to here where it is copied from."""
        self._refuse_if_failed()
        self.allow_gaps(short_before=self._segments.last.base_offset + 1)
        self._roll(base_offset, now_ms)
        self.log_end_offset = base_offset

    def _roll(self, base_offset: int, now_ms: int) -> Segment:
        full = self._segments.last
        full.seal()
        self._store_producers(base_offset)
        full.end_offset = base_offset
        segment = Segment(self.directory, base_offset, created_ms=now_ms, disk=self.disk)
        segment.create(self.config.segment_bytes if self.config.preallocate else 0)
        self._flushes.names_made += 1
        if full.size == 0:  # only its base offset did not fit what comes next
            full.delete()
        self._segments.add(segment)
        return segment

    # ---- flushing and closing ----

    @property
    def generation(self) -> int:
        """How often the log was cut since it was opened."""
        return self._flushes.generation

    @property
    def has_failed(self) -> bool:
        """Whether a flush failed, which is final: what was appended last may be lost, and may never have been told to anybody."""
        return self._flushes.failure not in (None, UNDER_TRUNCATION)

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
        try:
            self._shorten_replay()
        except (OSError, StorageError) as error:  # the flush did what it was for; the next one tries this again
            logger.warning("producer snapshot not stored log=%s error=%s", self.directory, error)

    def _shorten_replay(self) -> None:
        """See to it that a restart need not read much to know the producers again."""
        segment = self._segments.last
        if segment.size - segment.position_of(self._producers.snapshot_offset) > REPLAYED_BYTES:
            self._store_producers(self.log_end_offset)

    def _store_producers(self, offset: int) -> None:
        for segment in self._segments:  # replay from the snapshot on would not find these again
            segment.aborted.sync()
        store_snapshot(self.directory, self._producers, offset, self.disk)

    def _store_epochs(self) -> None:
        self._epochs.store()
        self._flushes.names_made += 1

    def fail(self, error: OSError) -> None:
        """Take no more appends: what is in the log and what is known of it may differ."""
        if self._flushes.failure is None or self._flushes.failure is UNDER_TRUNCATION:
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
        """Let go of the files and leave them as a crash would; waits for a truncation that a thread has begun."""
        state = self._flushes
        if state.failure is UNDER_TRUNCATION:
            with state.lock:
                state.failure = state.failure if state.failure is not UNDER_TRUNCATION else GIVEN_UP
        for segment in self._segments:
            segment.close()
