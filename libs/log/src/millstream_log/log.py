"""A partition's log: segments in order, appended to at the end, read from anywhere, cut at either side.

Synchronous, for one event loop: appends go to the page cache, and so do reads that may not wait. It validates no records
(the caller has checked the batch) and knows no replication; the high watermark is the broker's.
"""

import os
import random
from pathlib import Path

from millstream_log.config import LogConfig
from millstream_log.cutting import Cut, Truncation, cut_of_everything, find_cut
from millstream_log.disk import DISK, Disk
from millstream_log.ended_transactions import ended_transactions
from millstream_log.errors import OffsetOutOfRange, StorageError
from millstream_log.flush import UNDER_TRUNCATION
from millstream_log.gap_mark import ANYWHERE, has_gaps, short_before
from millstream_log.leader_epochs import EpochEnd, EpochStart
from millstream_log.producer_snapshot import delete_snapshots
from millstream_log.producer_state import ProducerEntry
from millstream_log.recovery import recover
from millstream_log.segment import Read, Segment, TimestampedOffset
from millstream_log.transaction_index import AbortedTransaction
from millstream_log.truncation_mark import forget_mark
from millstream_log.writing import LogWriter


class Log(LogWriter):
    """How it is written, and what has to hold meanwhile, is `LogWriter`'s."""

    __slots__ = ()

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
        generator: random.Random | None = None,
    ) -> "Log":
        """Open the log in `directory`, which is made if there is none, and recover it unless it was closed cleanly.

        Only a log that was ever compacted, here or at its leader, may have gaps between its offsets; in others they are losses.
        It notes that itself; `may_have_gaps` is for logs that were compacted before it did.
        """
        found = recover(
            directory,
            config,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=clean,
            may_have_gaps=may_have_gaps or has_gaps(directory),
            short_before=ANYWHERE if may_have_gaps and not has_gaps(directory) else short_before(directory, disk),
            now_ms=now_ms,
            disk=disk,
        )
        log = cls(directory, config, found, generator or random.Random(), recovery_point=recovery_point)
        if may_have_gaps and not has_gaps(directory):
            log.allow_gaps(short_before=log.segments[-1].base_offset)
        log.forget_short_segments()
        return log

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

    @property
    def has_gaps(self) -> bool:
        """Whether offsets may be missing: it was compacted, here or where it was copied from."""
        return self._has_gaps

    def ended_transactions(self, from_offset: int, *, now_ms: int) -> list[tuple[int, int]]:
        """(marker's offset, first offset) of each transaction whose marker is at `from_offset` or later.

        Reads the disk: for a thread, while nobody appends.
        """
        return ended_transactions(self.directory, self.segments, self.producers, from_offset, now_ms, self.disk)

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
            self.refuse_under_truncation()
            self.log_start_offset = offset
            self._epochs.truncate_start(offset)
            self._store_epochs()

    def doom_segments(self, count: int) -> list[Path]:
        """Let the oldest segments go; the last one stays, so roll first if all of it has to go. Their files, for the caller to remove."""
        self.refuse_under_truncation()
        doomed = [path for segment in self._segments.drop_oldest(count) for path in segment.doom()]
        self.advance_start(self._segments.first.base_offset)
        delete_snapshots(self.directory, before=self._segments.first.base_offset, disk=self.disk)
        return doomed

    def find_cut(self, offset: int, *, now_ms: int) -> Cut:
        """Find where to cut so that the log ends at `offset` or, if a batch spans it, before that batch.

        Changes nothing and reads the disk: for a thread, while nobody appends.
        """
        return find_cut(
            self.directory,
            self.segments,
            offset,
            log_start_offset=self.log_start_offset,
            generation=self._flushes.generation,
            now_ms=now_ms,
        )

    def start_truncation(self, cut: Cut) -> Truncation:
        """Be cut, in memory; perform what is returned here or in a thread, then hand it to `finish_truncation`.

        Until then the log can be read and nothing else. What was cut off is gone for readers, cleanings and flushes at once.
        """
        self._refuse_if_failed()
        state = self._flushes
        if cut.generation != state.generation:
            raise StorageError(f"{self.directory}: was cut meanwhile")
        if cut.kept and self._has_gaps:  # the cut may be in a gap
            self.allow_gaps(short_before=cut.kept[-1].base_offset + 1)
        state.generation += 1
        state.names_made += 1
        state.failure = UNDER_TRUNCATION
        state.recovery_point = min(state.recovery_point, cut.end_offset)
        if cut.shortened is not None:
            cut.kept[-1].shorten(cut.shortened)
        elif cut.kept:
            cut.kept[-1].end_offset = cut.end_offset
        self._segments.take([*cut.kept, Segment(self.directory, cut.end_offset, created_ms=cut.now_ms, disk=self.disk)])
        self._producers = cut.producers
        self._epochs.truncate_end(cut.end_offset if cut.has_history else -1)
        self.log_end_offset = cut.end_offset
        self.log_start_offset = cut.start_offset
        mark = cut.mark(self.log_end_offset if self.truncated_to is None else self.truncated_to)
        self.truncated_to = mark.checkpoint_offset_max
        return Truncation(self.directory, self.disk, state, mark, cut, epochs=self._epochs.encoded())

    def finish_truncation(self, truncation: Truncation) -> list[Path]:
        """Take appends again, if it was performed; return the files that are out of the way, for the caller to remove."""
        if truncation.refused is not None:
            self._flushes.failure = truncation.refused  # given up: the next start completes it
        if self._flushes.failure is UNDER_TRUNCATION:
            self._flushes.failure = None
            self._flushes.names_flushed = self._flushes.names_made
            self._short_before = min(self._short_before, truncation.mark.end_offset)
            truncation.settle()
        return truncation.doomed

    def truncate_to(self, offset: int, *, now_ms: int) -> None:
        """Cut the log and wait for the disk."""
        if offset < self.log_end_offset:
            self._truncate(self.find_cut(offset, now_ms=now_ms))

    def truncate_fully(self, start_offset: int, *, now_ms: int) -> None:
        """Drop everything and start anew at `start_offset`, and wait for the disk."""
        self._truncate(cut_of_everything(start_offset, generation=self._flushes.generation, now_ms=now_ms))

    def _truncate(self, cut: Cut) -> None:
        truncation = self.start_truncation(cut)
        try:
            truncation.perform()
        except OSError as error:
            raise StorageError(f"{self.directory}: {error}") from error
        for path in self.finish_truncation(truncation):
            self.disk.unlink(path)

    def refuse_under_truncation(self) -> None:
        """Whoever is about to touch the files of segments asks first: a thread may be cutting them."""
        if self._flushes.failure is UNDER_TRUNCATION:
            raise StorageError(f"{self.directory}: {UNDER_TRUNCATION}")

    def forget_truncation(self) -> None:
        """The data directory's checkpoints know of it by now."""
        if self.truncated_to is not None and self._flushes.failure is not UNDER_TRUNCATION:
            forget_mark(self.directory, self.disk)
            self.truncated_to = None

    def check(self) -> None:
        """Verify the invariants; tests call it after each step."""
        self._segments.check()
        assert self._short_before <= self._segments.last.base_offset or self._flushes.failure is not None
        assert self.log_start_offset <= self.log_end_offset == self._segments.last.end_offset
        for segment in self._segments:
            if segment.log_path.exists() and not (self.config.preallocate and segment is self._segments.last):
                assert os.stat(segment.log_path).st_size == segment.size
