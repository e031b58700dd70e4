"""A course of everything that may happen to one partition's log, drawn by a seed, and judged after each step.

It is driven as a broker drives it (`Upkeep`, `Cleaner`, `HostedPartitions`), a replica's cuts and gaps included. A flush and
a cleaning take several steps, with others in between: they run in threads.
"""

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path

from millstream_log import DataDir, Log, LogError, OutOfOrderSequence, StorageError, TopicPartition
from millstream_log.cleaner import (
    Cleaned,
    Cleaning,
    Compaction,
    Step,
    Worked,
    find_cleanable,
    replace_segments,
    settle_replacement,
)
from millstream_log.disk import unlink_if_there
from millstream_log.flush import Flush
from millstream_simulation.disks.sim_disk import SimDisk
from millstream_simulation.log_alone.draw import Draw, Trouble
from millstream_simulation.log_alone.model import Batch, Model
from millstream_simulation.story import Violation
from millstream_wire.records import EndMarker, Record, RecordsError, check, encode_batch

PARTITION = TopicPartition("orders", 0)
BEGINS_MS = 1_700_000_000_000
STEPS = 120
KEYS = 6
PRODUCERS = (1, 2, 3)
TOLD_MAX = 12


class Course:
    """`run` once."""

    def __init__(self, seed: int, root: Path, *, without: frozenset[Trouble] = frozenset()) -> None:
        root.mkdir()
        self.situations: Counter[str] = Counter()
        self.told: deque[str] = deque(maxlen=TOLD_MAX)
        self._random = random.Random(f"{seed} course")
        self.draw = Draw.of(self._random)
        self._troubles = self.draw.troubles - without
        self._disk = SimDisk(root, random.Random(f"{seed} disk"), self._note)
        self._path = root
        self._model = Model()
        self._now_ms = BEGINS_MS
        self._epoch = 0
        self._values = 0
        self._refused_at = -1  # a follower fetches the same batch again
        self._flushes: list[tuple[Flush, bool]] = []
        """Under way, and whether its thread is done with it."""
        self._cleaning: tuple[Cleaning, Iterator[Step]] | None = None
        self._first_dirty = self._clean_to = 0
        self._doomed: list[Path] = []
        self._data, self._log = self._opened()

    def run(self) -> None:
        """Raise Violation when a promise breaks."""
        steps = self._steps()
        for _ in range(STEPS):
            self._now_ms += self._random.randint(0, 400)
            step = self._random.choice(steps)
            self.told.append(step.__name__.strip("_"))
            try:
                self._take(step)
                self._model.note_flushed(self._log)
                self._model.check(self._log)
            except (OSError, LogError, RecordsError, AssertionError) as error:
                raise Violation(f"{type(error).__name__}: {error}") from error
        self._data.abandon()

    def _take(self, step: Callable[[], None]) -> None:
        try:
            step()
        except (OSError, StorageError):
            if not self._model.in_doubt:
                raise
            self._note("refused after a failed flush")  # until the broker starts again
            self._kill()

    def _steps(self) -> list[Callable[[], None]]:
        steps: list[tuple[Callable[[], None], int]] = [
            (self._append, 14),
            (self._roll, 2),
            (self._lead_anew, 1),
            (self._begin_flush, 3),
            (self._go_on_flushing, 6),
            (self._flush, 2),
            (self._checkpoint, 3),
            (self._kill, 2),
            (self._stop, 1),
        ]
        of_trouble = {
            Trouble.CUT: (self._cut, 2),
            Trouble.POWER: (self._lose_power, 2),
            Trouble.BAD_FLUSH: (self._break_a_flush, 1),
            Trouble.FULL_DISK: (self._fill_the_disk, 1),
        }
        steps += [step for trouble, step in of_trouble.items() if trouble in self._troubles]
        if self.draw.compacts:
            steps += [(self._clean, 8 if self.draw.cleans else 0)]
        else:
            steps += [(self._append_transaction, 8), (self._repeat, 2), (self._retain, 1), (self._delete_records, 1)]
        return [step for step, weight in steps for _ in range(weight)]

    # ---- appends ----

    def _append(self) -> None:
        if self.draw.compacts:
            gap = self._random.choice([0, 0, 1, 30]) if self.draw.follows else 0
            offset = self._model.end + gap if self._refused_at < self._model.end else self._refused_at
            self._add(Batch(offset, self._records(), self._epoch))
            return
        producer_id = self._random.choice([-1, *PRODUCERS])
        if producer_id in self._model.open_transactions:
            return
        self._add(self._of_producer(producer_id, transactional=False))

    def _append_transaction(self) -> None:
        producer_id = self._random.choice(PRODUCERS)
        if producer_id in self._model.open_transactions and self._random.random() < 0.5:
            commits = self._random.random() < 0.5
            record = EndMarker(commits, 0).encode(self._now_ms)
            self._add(
                Batch(self._model.end, ((record.key, record.value),), self._epoch, producer_id, 0, -1, True, commits)
            )
            return
        self._add(self._of_producer(producer_id, transactional=True))

    def _of_producer(self, producer_id: int, *, transactional: bool) -> Batch:
        records = self._records()
        if producer_id < 0:
            return Batch(self._model.end, records, self._epoch)
        last = self._next_sequence(producer_id) + len(records) - 1
        return Batch(self._model.end, records, self._epoch, producer_id, 0, last, transactional)

    def _repeat(self) -> None:
        """A producer did not get the answer to its newest batch."""
        producer_id = self._random.choice(PRODUCERS)
        mine = [batch for batch in self._model.batches if batch.producer_id == producer_id and batch.commits is None]
        if not mine or mine[-1].offset < self._model.start:
            return
        data = self._encoded(mine[-1])
        has_ended = mine[-1].transactional and producer_id not in self._model.open_transactions
        try:
            result = self._log.append(data, check(data), leader_epoch=self._epoch, now_ms=self._now_ms)
        except OutOfOrderSequence:
            if not has_ended:
                raise
            self._note("batch of an ended transaction refused")
            return
        except StorageError:
            return
        if has_ended:
            raise Violation(f"what is at {mine[-1].offset}, in a transaction that has ended, was acknowledged again")
        if not result.is_duplicate or result.base_offset != mine[-1].offset:
            raise Violation(f"what is at {mine[-1].offset} was appended again at {result.base_offset}")
        self._note("batch repeated")

    def _add(self, batch: Batch) -> None:
        data = self._encoded(batch)
        header = check(data)
        segments = len(self._log.segments)
        try:
            if self.draw.follows:
                self._log.append_as_follower(data, header, now_ms=self._now_ms)
            elif batch.commits is None:
                self._log.append(data, header, leader_epoch=self._epoch, now_ms=self._now_ms)
            else:
                self._log.append_control(data, header, leader_epoch=self._epoch, now_ms=self._now_ms)
        except StorageError:
            self._note("append refused")
            if self._log.log_end_offset == self._model.end:
                self._refused_at = batch.offset if self.draw.follows else -1
                return
            self._model.in_doubt = True  # the flush failed that the append asked for
        if self.draw.follows and batch.offset > self._model.end:
            self._note("gap fetched")
        if len(self._log.segments) > segments:
            self._note("segment rolled")
        self._model.appended(batch)

    def _encoded(self, batch: Batch) -> bytearray:
        is_of_producer = batch.producer_id >= 0
        first = batch.last_sequence - len(batch.records) + 1 if is_of_producer and batch.commits is None else -1
        return bytearray(
            encode_batch(
                [Record(0, self._now_ms, key, value) for key, value in batch.records],
                base_offset=batch.offset,
                leader_epoch=batch.leader_epoch,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                base_sequence=first,
                transactional=batch.transactional,
                control=batch.commits is not None,
            )
        )

    def _records(self) -> tuple[tuple[bytes | None, bytes | None], ...]:
        return tuple(self._record() for _ in range(self._random.randint(1, 3)))

    def _record(self) -> tuple[bytes, bytes | None]:
        self._values += 1
        key = b"key-%d" % self._random.randrange(KEYS)
        if self.draw.compacts and self._random.random() < 0.2:
            return key, None
        return key, b"%d " % self._values + bytes(self._random.choice([0, 100, 300]))

    def _next_sequence(self, producer_id: int) -> int:
        known = self._log.producer(producer_id)
        return 0 if known is None else known.last_sequence + 1

    def _roll(self) -> None:
        if self._random.random() < 0.5:  # while the event loop has yet to hear of a flush
            self._begin_flush()
            self._go_on_flushing()
        self._log.roll(self._now_ms)

    def _lead_anew(self) -> None:
        self._epoch += 1

    # ---- flushes, checkpoints ----

    def _begin_flush(self) -> None:
        try:
            self._flushes.append((self._log.start_flush(), False))
        except StorageError:
            return

    def _go_on_flushing(self) -> None:
        """One of the flushes under way is performed in its thread, or the event loop hears that it went well."""
        if not self._flushes:
            return
        flush, performed = self._flushes.pop(self._random.randrange(len(self._flushes)))
        if performed:
            self._log.finish_flush(flush)
            self._note("flush done")
            return
        try:
            flush.perform()
        except (OSError, StorageError):
            self._model.in_doubt = True
        else:
            self._flushes.append((flush, True))

    def _checkpoint(self) -> None:
        self._data.checkpoint({PARTITION: self._log.log_end_offset})

    def _flush(self) -> None:
        if not self._disk.faults.unflushable:
            self._log.flush()

    def _break_a_flush(self) -> None:
        beside = self._random.choice([0, 2])  # the next flush fails, or one of those that run at the same time now
        for _ in range(beside):
            self._begin_flush()
        self._disk.faults.unflushable.add(self._path / str(PARTITION))
        self._model.in_doubt = True
        for _ in range(2 * beside):
            self._go_on_flushing()

    def _fill_the_disk(self) -> None:
        self._disk.faults.room_bytes = self._random.choice([0, 10, 100, 1000])
        for _ in range(3):
            self._append()
        self._disk.faults.room_bytes = None

    # ---- cuts, deletions, compaction ----

    def _cut(self) -> None:
        """What a follower does that finds its end to be another than its leader's."""
        offsets = [batch.offset for batch in self._model.batches[-8:] if batch.offset >= self._model.start]
        if not offsets:
            return
        clean = [offset for offset in offsets if offset < self._model.cleaned][-2:]
        offset, self._refused_at = self._random.choice(clean if clean and self._random.random() < 0.5 else offsets), -1
        try:
            truncation = self._data.start_truncation(PARTITION, self._log.find_cut(offset, now_ms=self._now_ms))
            truncation.perform()
        except (OSError, StorageError):  # the broker starts again, and the next start finishes the cut, if it had begun
            self._model.cut_in_doubt(offset)
            self._kill()
            return
        self._doomed += self._log.finish_truncation(truncation)
        self._model.cut(self._log)
        self._note("log cut")

    def _retain(self) -> None:
        stable = self._log.first_unstable_offset
        limit = self._model.end if stable is None else stable
        count = sum(segment.end_offset <= limit for segment in self._log.segments[:-1])
        if count:
            self._doomed += self._log.doom_segments(self._random.randint(1, count))
            self._model.start_moved(self._log)
            self._note("segments deleted")
        for path in self._doomed[::2]:
            unlink_if_there(self._disk, path)
        self._doomed.clear()

    def _delete_records(self) -> None:
        stable = self._log.first_unstable_offset
        limit = self._model.end if stable is None else stable
        offsets = [batch.offset for batch in self._model.batches if self._model.start <= batch.offset <= limit]
        if offsets:
            self._log.advance_start(self._random.choice(offsets))
            self._model.start_moved(self._log)

    def _clean(self) -> None:
        """Begin to compact, or take the next few steps of it."""
        if self._cleaning is None:
            compaction = Compaction(delete_retention_ms=self.draw.delete_retention_ms)
            cleanable = find_cleanable(
                self._log.segments,
                compaction,
                first_dirty_offset=self._data.first_dirty_offset(PARTITION) or 0,
                stable_offset=self._model.end,
                now_ms=self._now_ms,
            )
            if cleanable.dirty_bytes == 0:
                return
            self._first_dirty, self._clean_to = cleanable.first_dirty_offset, cleanable.end_offset
            cleaning = Cleaning(self._log, cleanable, compaction, keys_bytes_max=1 << 16, now_ms=self._now_ms)
            self._cleaning = cleaning, cleaning.steps()
        for _ in range(self._random.randint(1, 6)):
            if not self._go_on_cleaning():
                self._cleaning = None
                return

    def _go_on_cleaning(self) -> bool:
        assert self._cleaning is not None
        cleaning, steps = self._cleaning
        try:
            step = next(steps, None)
            if isinstance(step, Worked):
                return True
            if isinstance(step, Cleaned):
                return self._replace(step)
        except (OSError, LogError):
            return False  # the log was cut under it; the broker tries again later
        if not cleaning.is_void:
            self._data.note_cleaned(PARTITION, cleaning.cleaned_end_offset)
            self._note("log cleaned")
        return False

    def _replace(self, step: Cleaned) -> bool:
        self._data.note_cleaned(PARTITION, self._first_dirty)
        if not replace_segments(self._log, step):
            self._note("cleaning given up")
            return False
        self._model.cleaned = max(self._model.cleaned, self._clean_to)
        self._doomed += settle_replacement(self._log, step)
        return True

    # ---- ends and new beginnings ----

    def _kill(self) -> None:
        if self._flushes:
            self._note("flush in progress at kill")
        self._data.abandon()
        self._open_again(after_power_loss=False)

    def _lose_power(self) -> None:
        self._data.abandon()
        self._disk.lose_power()
        self._open_again(after_power_loss=True)

    def _stop(self) -> None:
        """In peace; and then, half of the time, somebody pulls the plug."""
        self._disk.faults.mend()
        while self._flushes:
            self._go_on_flushing()
        self._data.close({PARTITION: self._log.log_end_offset})
        loses_power = Trouble.POWER in self._troubles and self._random.random() < 0.5
        if loses_power:
            if not self._model.in_doubt:
                self._model.flushed = self._model.end
            self._disk.lose_power()
        self._open_again(after_power_loss=loses_power)

    def _open_again(self, *, after_power_loss: bool) -> None:
        self._disk.faults.mend()
        self._flushes.clear()
        self._doomed.clear()
        self._cleaning = None
        self._data, self._log = self._opened()
        self._model.reopened(self._log, after_power_loss=after_power_loss)

    def _opened(self) -> tuple[DataDir, Log]:
        data = DataDir(self._path, node_id=1, cluster_id="cluster", disk=self._disk)
        return data, data.open_log(PARTITION, None, self.draw.config, now_ms=self._now_ms)

    def _note(self, situation: str) -> None:
        self.situations[situation] += 1
