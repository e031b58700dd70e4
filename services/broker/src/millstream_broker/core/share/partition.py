"""A share partition (KIP-932): what one share group has had of one partition, and who has what of it now.

Offsets from the first that is not done to the last that was delivered are in its window. What a member says about its records
takes effect once that is stored: `begin_write` says what to store, `finish_write` how that went. Knows no time but what it
is told, and nothing of files, connections or coordinators.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from millstream_broker.core.share.delivery_runs import DeliveryRuns, DeliveryState, Run
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


class AcknowledgeType(IntEnum):
    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """What the group's configuration says."""

    lock_ms: int = 30_000
    """share.record.lock.duration.ms"""
    deliveries_max: int = 5
    """share.delivery.count.limit"""
    records_max: int = 2_000
    """share.partition.max.record.locks: how long the window may be before no new records come into it."""


class LogBatch(NamedTuple):
    """A batch of the log, `[start, end)`; what is not deliverable are markers and what was aborted."""

    start: int
    end: int
    is_deliverable: bool


class Acquired(NamedTuple):
    """Records `[start, end)` that a member has just been given."""

    start: int
    end: int
    deliveries: int


class Acknowledgement(NamedTuple):
    """What a member says of the records `[start, end)`: one type for all of them, or one for each."""

    start: int
    end: int
    types: tuple[AcknowledgeType, ...]


class StoredBatch(NamedTuple):
    """The stored state of the records `[start, end)`."""

    start: int
    end: int
    state: DeliveryState
    deliveries: int


@dataclass(frozen=True, slots=True)
class Write:
    """What to store: where the window begins once this is stored, what changed in it, and how much of it is done."""

    start_offset: int
    batches: tuple[StoredBatch, ...]
    complete_count: int


class SharePartition:
    """Invariant (`check`): the first offset of the window is not done, unless it is empty; one write at a time."""

    __slots__ = ("_is_stored", "_is_writing", "_runs", "_was_stored", "limits")

    def __init__(
        self, start_offset: int, batches: Iterable[StoredBatch] = (), *, limits: ShareLimits, is_stored: bool = True
    ) -> None:
        """`is_stored`: the start offset is what the stored state says; nothing more is known of it here."""
        self.limits = limits
        self._runs = DeliveryRuns(start_offset)
        self._is_stored = self._was_stored = is_stored
        self._is_writing = False
        for batch in sorted(batches):
            self._runs.extend(batch.start, DeliveryState.AVAILABLE)
            self._runs.extend(batch.end, batch.state, batch.deliveries)
        self._tidy()

    @property
    def start_offset(self) -> int:
        return self._runs.start

    @property
    def end_offset(self) -> int:
        return self._runs.end

    # ---- acquiring ----

    @property
    def next_fetch_offset(self) -> int:
        """From where on there may be records to give: those that came back first."""
        for run in self._runs:
            if run.is_available:
                return run.start
        return self._runs.end

    @property
    def has_room(self) -> bool:
        """Whether anything can be acquired: there is what came back, or the window may grow."""
        return self._runs.end - self._runs.start < self.limits.records_max or self.has_returned

    @property
    def has_returned(self) -> bool:
        """Whether there are records that were in the window already and nobody has."""
        return any(run.is_available for run in self._runs)

    def acquire(
        self,
        member: str,
        from_offset: int,
        batches: Sequence[LogBatch],
        *,
        records_max: int,
        strict: bool,
        batch_size: int,
        now_ms: int,
    ) -> list[Acquired]:
        """Give a member what it may have of the batches that the log has from `from_offset` on.

        Whole batches until `records_max` is reached; no more than that if `strict`. Offsets that the log passes over, and
        those of batches that are not for delivery, are done with. Ranges of more than `batch_size` end between batches.
        """
        acquired: list[Acquired] = []
        count = 0
        position = from_offset
        for batch in batches:
            self._skip(position, batch.start)
            start, position = max(batch.start, position), batch.end
            if not batch.is_deliverable:
                self._skip(start, batch.end)
                continue
            if count >= records_max:
                break
            is_full = self._runs.end - self._runs.start >= self.limits.records_max
            end = min(batch.end, self._runs.end) if is_full else batch.end
            given = self._take(member, start, end, records_max - count if strict else None, now_ms)
            count += sum(each.end - each.start for each in given)
            _add(acquired, given, batch_size)
            if is_full and batch.end > end:
                break
        self._tidy()
        return acquired

    def _take(self, member: str, start: int, end: int, records_max: int | None, now_ms: int) -> list[Acquired]:
        """Give the member what is available in `[start, end)`, the window growing with it."""
        left = end - start if records_max is None else records_max
        given = []
        for run in self._runs.between(start, end):
            if run.is_available and left > 0:
                taken = run
                if len(run) > left:
                    (taken,) = self._runs.between(run.start, run.start + left)
                left -= len(taken)
                self._lock(taken, member, now_ms)
                given.append(Acquired(taken.start, taken.end, taken.deliveries))
        fresh = max(start, self._runs.end)
        fresh_end = min(end, fresh + left)
        if fresh < fresh_end:
            self._runs.extend(fresh_end, DeliveryState.AVAILABLE)
            (taken,) = self._runs.between(fresh, fresh_end)
            self._lock(taken, member, now_ms)
            given.append(Acquired(fresh, fresh_end, 1))
        return given

    def _lock(self, run: Run, member: str, now_ms: int) -> None:
        run.state = DeliveryState.ACQUIRED
        run.deliveries += 1
        run.member = member
        run.deadline_ms = now_ms + self.limits.lock_ms

    def _skip(self, start: int, end: int) -> None:
        """Nobody will get these: there is nothing at them, or nothing for readers. Not stored: it would be found again."""
        for run in self._runs.between(start, end):
            if run.is_available:
                run.become(DeliveryState.ARCHIVED)
        if start <= self._runs.end:
            self._runs.extend(end, DeliveryState.ARCHIVED)

    # ---- what members say ----

    def acknowledge(self, member: str, acknowledgements: Sequence[Acknowledgement], now_ms: int) -> ErrorCode:
        """Note what a member says, all of it or nothing; NONE means that the next write carries it.

        What is before the window is done already. Renewing takes effect at once.
        """
        wanted: list[tuple[Run, AcknowledgeType]] = []
        for each in acknowledgements:
            if each.end > self._runs.end:
                return ErrorCode.INVALID_REQUEST
            for start, end, kind in _by_type(each):
                wanted += ((run, kind) for run in self._runs.between(start, end))
        if not all(run.is_held and run.member == member for run, _ in wanted):
            self._runs.join()
            return ErrorCode.INVALID_RECORD_STATE
        for run, kind in wanted:
            run.is_written = False  # a write under way may carry how it came here, not this
            match kind:
                case AcknowledgeType.ACCEPT:
                    run.outcome = DeliveryState.ACKNOWLEDGED
                case AcknowledgeType.RELEASE:
                    run.outcome = self._returned(run)
                case AcknowledgeType.REJECT | AcknowledgeType.GAP:
                    run.outcome = DeliveryState.ARCHIVED
                case AcknowledgeType.RENEW:
                    run.deadline_ms = now_ms + self.limits.lock_ms
        self._runs.join()
        return ErrorCode.NONE

    def release(self, member: str) -> int:
        """Take back what a member has that is gone; how many records. It may have died of them: the delivery counts."""
        return self._take_back([run for run in self._runs if run.is_held and run.member == member])

    def expire(self, now_ms: int) -> int:
        """Take back what members have had for too long; how many records."""
        return self._take_back([run for run in self._runs if run.is_held and run.deadline_ms <= now_ms])

    def _take_back(self, runs: Sequence[Run]) -> int:
        for run in runs:
            run.become(self._returned(run))
            run.unstored = True
            run.is_written = False
        count = sum(map(len, runs))
        if runs:
            self._is_stored = False
            self._tidy()
        return count

    @property
    def deadline_ms(self) -> int | None:
        """When `expire` next has something to do."""
        return min((run.deadline_ms for run in self._runs if run.is_held), default=None)

    def _returned(self, run: Run) -> DeliveryState:
        gives_up = run.deliveries >= self.limits.deliveries_max
        return DeliveryState.ARCHIVED if gives_up else DeliveryState.AVAILABLE

    # ---- storing ----

    @property
    def awaits_write(self) -> bool:
        """Whether members said what no write under way carries."""
        return any(run.outcome is not None and not run.is_written for run in self._runs)

    def begin_write(self) -> Write | None:
        """What to store now; None while there is nothing, or a write is under way."""
        changed = [run for run in self._runs if run.outcome is not None or run.unstored]
        if self._is_writing or not (changed or not self._is_stored):
            return None
        self._is_writing = True
        self._was_stored, self._is_stored = self._is_stored, True
        for run in changed:
            run.is_written = True
        start_offset = next((run.start for run in self._runs if not run.will_be.is_final), self._runs.end)
        batches: list[StoredBatch] = []
        for run in changed:
            if run.start < start_offset:
                continue
            stored = StoredBatch(run.start, run.end, run.will_be, run.past_deliveries)
            last = batches[-1] if batches else None
            if last is not None and last[1:] == (run.start, *stored[2:]):
                batches[-1] = last._replace(end=run.end)
            else:
                batches.append(stored)
        complete = sum(len(run) for run in self._runs if run.start >= start_offset and run.will_be.is_final)
        return Write(start_offset, tuple(batches), complete)

    def finish_write(self, *, is_stored: bool) -> None:
        """The write is over. What members said takes effect, or is forgotten and theirs to say again."""
        assert self._is_writing, "begun before"
        self._is_writing = False
        self._is_stored = self._is_stored and (is_stored or self._was_stored)
        for run in self._runs:
            if not run.is_written:
                continue
            run.is_written = False
            if is_stored:
                run.unstored = False
                if run.outcome is not None:
                    run.become(run.outcome)
            else:
                run.outcome = None
        self._tidy()

    # ---- the log ----

    def on_log_start(self, offset: int) -> None:
        """The log begins here now: what was before it is done."""
        if offset > self._runs.start:
            self._runs.drop_before(offset)
            self._tidy()

    def check(self) -> None:
        self._runs.check()
        first = next(iter(self._runs), None)
        assert first is None or not first.state.is_final
        for run in self._runs:
            assert not run.is_written or self._is_writing

    def _tidy(self) -> None:
        done = next((run.start for run in self._runs if not run.state.is_final), self._runs.end)
        self._runs.drop_before(done)
        self._runs.join()


def _by_type(acknowledgement: Acknowledgement) -> list[tuple[int, int, AcknowledgeType]]:
    """The acknowledged offsets as ranges of one type each."""
    start, end, types = acknowledgement
    if len(types) == 1:
        return [(start, end, types[0])]
    ranges: list[tuple[int, int, AcknowledgeType]] = []
    for offset, kind in enumerate(types, start):
        if ranges and ranges[-1][2] is kind:
            ranges[-1] = (ranges[-1][0], offset + 1, kind)
        else:
            ranges.append((offset, offset + 1, kind))
    return ranges


def _add(acquired: list[Acquired], given: Iterable[Acquired], batch_size: int) -> None:
    """Put what was given of one more batch to the rest, joined to it where that stays within `batch_size`."""
    for each in given:
        last = acquired[-1] if acquired else None
        joins = last is not None and (last.end, last.deliveries) == (each.start, each.deliveries)
        if last is not None and joins and (batch_size <= 0 or each.end - last.start <= batch_size):
            acquired[-1] = last._replace(end=each.end)
        else:
            acquired.append(each)
