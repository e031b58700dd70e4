"""What a share group gets of a partition and when again, by example and beside a model that knows each offset by itself."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_broker.core.share.delivery_runs import DeliveryState
from millstream_broker.core.share.partition import (
    Acknowledgement,
    AcknowledgeType,
    Acquired,
    LogBatch,
    ShareLimits,
    SharePartition,
    StoredBatch,
    Write,
)
from millstream_wire.errors import ErrorCode

AVAILABLE, ACQUIRED = DeliveryState.AVAILABLE, DeliveryState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def log(*sizes: int, start: int = 0, hidden: tuple[int, ...] = ()) -> list[LogBatch]:
    """Batches of so many records, one after the other; those of `hidden` indexes are not for delivery."""
    batches = []
    for index, size in enumerate(sizes):
        batches.append(LogBatch(start, start + size, index not in hidden))
        start += size
    return batches


def new(start: int = 0, *stored: StoredBatch, **limits: int) -> SharePartition:
    return SharePartition(start, stored, limits=ShareLimits(**limits))


def acquire(
    share: SharePartition,
    batches: list[LogBatch],
    *,
    member: str = "a",
    records_max: int = 500,
    strict: bool = False,
    batch_size: int = 0,
    now_ms: int = 0,
) -> list[Acquired]:
    start = share.next_fetch_offset
    acquired = share.acquire(
        member,
        start,
        [batch for batch in batches if batch.end > start],
        records_max=records_max,
        strict=strict,
        batch_size=batch_size,
        now_ms=now_ms,
    )
    share.check()
    return acquired


def say(
    share: SharePartition, start: int, end: int, *types: AcknowledgeType, member: str = "a", now_ms: int = 0
) -> ErrorCode:
    return share.acknowledge(member, [Acknowledgement(start, end, types)], now_ms)


def store(share: SharePartition) -> Write:
    write = share.begin_write()
    assert write is not None
    share.finish_write(is_stored=True)
    share.check()
    return write


def test_members_share_a_partition_batch_by_batch() -> None:
    share = new()
    batches = log(4, 4, 4)
    assert acquire(share, batches, member="a", records_max=5) == [Acquired(0, 8, 1)]
    assert acquire(share, batches, member="b", records_max=5) == [Acquired(8, 12, 1)]
    assert acquire(share, batches, member="c") == []


def test_a_strict_limit_cuts_batches() -> None:
    share = new()
    assert acquire(share, log(4, 4), records_max=5, strict=True) == [Acquired(0, 5, 1)]
    assert acquire(share, log(4, 4), records_max=5, strict=True) == [Acquired(5, 8, 1)]


def test_ranges_end_between_batches_where_they_would_get_too_long() -> None:
    share = new()
    assert acquire(share, log(4, 4, 4), batch_size=9) == [Acquired(0, 8, 1), Acquired(8, 12, 1)]


def test_what_is_accepted_takes_effect_once_it_is_stored() -> None:
    share = new()
    acquire(share, log(4, 4))
    assert say(share, 0, 6, ACCEPT) is ErrorCode.NONE
    assert share.begin_write() == Write(6, (), 0)
    assert say(share, 0, 1, ACCEPT) is ErrorCode.INVALID_RECORD_STATE
    assert share.start_offset == 0
    share.finish_write(is_stored=True)
    assert share.start_offset == 6
    assert say(share, 0, 6, ACCEPT) is ErrorCode.NONE  # done is done
    assert share.begin_write() is None


def test_what_could_not_be_stored_is_the_members_to_say_again() -> None:
    share = new()
    acquire(share, log(4))
    say(share, 0, 4, ACCEPT)
    share.begin_write()
    share.finish_write(is_stored=False)
    share.check()
    assert share.begin_write() is None
    assert acquire(share, log(4), member="b") == []
    assert say(share, 0, 4, ACCEPT) is ErrorCode.NONE
    assert store(share) == Write(4, (), 0)


def test_what_is_said_during_a_write_waits_for_the_next() -> None:
    share = new()
    acquire(share, log(4))
    say(share, 0, 1, ACCEPT)
    share.begin_write()
    say(share, 2, 4, ACCEPT)
    assert share.begin_write() is None
    share.finish_write(is_stored=True)
    assert share.start_offset == 1
    assert store(share) == Write(1, (StoredBatch(2, 4, ACKNOWLEDGED, 1),), 2)


def test_each_record_may_have_its_own_answer() -> None:
    share = new()
    acquire(share, log(5))
    assert say(share, 0, 5, ACCEPT, RELEASE, REJECT, AcknowledgeType.GAP, RELEASE) is ErrorCode.NONE
    stored = store(share)
    assert stored == Write(
        1, (StoredBatch(1, 2, AVAILABLE, 1), StoredBatch(2, 4, ARCHIVED, 1), StoredBatch(4, 5, AVAILABLE, 1)), 2
    )
    assert acquire(share, log(5), member="b") == [Acquired(1, 2, 2), Acquired(4, 5, 2)]


def test_nobody_speaks_for_what_another_has() -> None:
    share = new()
    acquire(share, log(4), member="a")
    acquire(share, log(4, 4), member="b")
    assert say(share, 2, 6, ACCEPT, member="a") is ErrorCode.INVALID_RECORD_STATE
    assert say(share, 6, 9, ACCEPT, member="b") is ErrorCode.INVALID_REQUEST
    assert share.begin_write() is None


def test_a_released_record_is_given_up_after_so_many_deliveries() -> None:
    share = new(deliveries_max=3)
    for deliveries in (1, 2, 3):
        assert acquire(share, log(1)) == [Acquired(0, 1, deliveries)]
        say(share, 0, 1, RELEASE)
        store(share)
    assert share.start_offset == 1


def test_what_takes_too_long_comes_back_and_counts() -> None:
    share = new(lock_ms=100, deliveries_max=2)
    acquire(share, log(4), now_ms=0)
    say(share, 0, 1, ACCEPT)
    say(share, 2, 3, AcknowledgeType.RENEW, now_ms=50)
    assert share.deadline_ms == 100
    assert share.expire(99) == 0
    assert share.expire(100) == 2
    assert share.deadline_ms == 150
    assert say(share, 1, 2, ACCEPT) is ErrorCode.INVALID_RECORD_STATE
    assert store(share) == Write(1, (StoredBatch(1, 2, AVAILABLE, 1), StoredBatch(3, 4, AVAILABLE, 1)), 0)
    assert acquire(share, log(4), member="b", now_ms=120) == [Acquired(1, 2, 2), Acquired(3, 4, 2)]
    assert share.expire(500) == 3
    assert store(share) == Write(2, (StoredBatch(2, 3, AVAILABLE, 1), StoredBatch(3, 4, ARCHIVED, 2)), 1)


def test_what_a_member_had_that_is_gone_was_delivered_all_the_same() -> None:
    share = new(deliveries_max=2)
    acquire(share, log(4))
    say(share, 0, 1, ACCEPT)
    assert share.release("a") == 3
    assert share.release("a") == 0
    assert store(share) == Write(1, (StoredBatch(1, 4, AVAILABLE, 1),), 0)
    assert acquire(share, log(4), member="b") == [Acquired(1, 4, 2)]
    share.release("b")
    assert store(share) == Write(4, (), 0)


def test_an_answer_is_not_taken_for_stored_by_a_write_that_began_before_it() -> None:
    share = new(lock_ms=100)
    acquire(share, log(1), now_ms=0)
    share.expire(100)
    assert share.begin_write() == Write(0, (StoredBatch(0, 1, AVAILABLE, 1),), 0)
    acquire(share, log(1), now_ms=100)
    say(share, 0, 1, ACCEPT)
    share.finish_write(is_stored=True)
    assert share.start_offset == 0
    assert store(share) == Write(1, (), 0)


def test_markers_aborted_batches_and_gaps_are_nobodys() -> None:
    share = new()
    batches = [LogBatch(2, 4, True), LogBatch(4, 5, False), LogBatch(7, 9, True), LogBatch(9, 10, False)]
    assert acquire(share, batches) == [Acquired(2, 4, 1), Acquired(7, 9, 1)]
    assert share.start_offset == 2
    assert share.end_offset == 10
    say(share, 2, 4, ACCEPT)
    store(share)
    assert share.start_offset == 7


def test_the_window_is_bounded_by_whole_batches_until_something_is_done() -> None:
    share = new(records_max=6)
    assert acquire(share, log(4, 4, 4)) == [Acquired(0, 8, 1)]
    assert not share.has_room
    say(share, 4, 8, RELEASE)
    store(share)
    assert share.has_room
    assert acquire(share, log(4, 4, 4)) == [Acquired(4, 8, 2)]
    say(share, 0, 4, ACCEPT)
    store(share)
    assert acquire(share, log(4, 4, 4)) == [Acquired(8, 12, 1)]


def test_stored_state_goes_on_where_it_was() -> None:
    share = new(10, StoredBatch(12, 14, ACKNOWLEDGED, 1), StoredBatch(15, 16, AVAILABLE, 3))
    assert acquire(share, log(10, start=8)) == [
        Acquired(10, 12, 1),
        Acquired(14, 15, 1),
        Acquired(15, 16, 4),
        Acquired(16, 18, 1),
    ]


def test_a_start_that_was_just_resolved_is_to_be_stored() -> None:
    share = SharePartition(7, limits=ShareLimits(), is_stored=False)
    assert store(share) == Write(7, (), 0)
    assert share.begin_write() is None


def test_the_logs_start_takes_the_window_with_it() -> None:
    share = new()
    acquire(share, log(4, 4))
    share.on_log_start(6)
    assert say(share, 0, 8, ACCEPT) is ErrorCode.NONE
    assert store(share) == Write(8, (), 0)
    share.on_log_start(20)
    assert (share.start_offset, share.end_offset) == (20, 20)


# ---- beside a model ----


@dataclass
class Cell:
    state: DeliveryState = AVAILABLE
    deliveries: int = 0
    member: str = ""
    deadline_ms: int = 0
    outcome: DeliveryState | None = None


@dataclass
class Model:
    """One cell for each offset that was ever delivered; no ranges, no window."""

    limits: ShareLimits
    cells: dict[int, Cell] = field(default_factory=dict)
    start: int = 0
    writing: list[int] = field(default_factory=list)
    stored: dict[int, StoredBatch] = field(default_factory=dict)
    stored_start: int = 0

    def acquired(self, acquired: list[Acquired], member: str, now_ms: int) -> None:
        for each in acquired:
            for offset in range(each.start, each.end):
                cell = self.cells.setdefault(offset, Cell())
                assert cell.state is AVAILABLE, "never to two at a time, never what is done"
                cell.state, cell.member, cell.deadline_ms = ACQUIRED, member, now_ms + self.limits.lock_ms
                cell.deliveries += 1
                assert cell.deliveries == each.deliveries <= self.limits.deliveries_max

    def held(self, member: str, now_ms: int | None = None) -> list[int]:
        return [
            offset
            for offset, cell in self.cells.items()
            if cell.state is ACQUIRED
            and cell.outcome is None
            and member in ("", cell.member)
            and (now_ms is None or cell.deadline_ms <= now_ms)
        ]

    def returned(self, cell: Cell) -> DeliveryState:
        return ARCHIVED if cell.deliveries >= self.limits.deliveries_max else AVAILABLE

    def become(self, cell: Cell, state: DeliveryState) -> None:
        cell.state, cell.member, cell.deadline_ms, cell.outcome = state, "", 0, None

    def say(self, member: str, start: int, end: int, kind: AcknowledgeType, now_ms: int) -> ErrorCode:
        start = max(start, self.start)
        cells = [self.cells.get(offset) for offset in range(start, end)]
        if not all(
            cell and cell.state is ACQUIRED and cell.outcome is None and cell.member == member for cell in cells
        ):
            return ErrorCode.INVALID_RECORD_STATE
        for cell in cells:
            assert cell is not None
            if kind is AcknowledgeType.RENEW:
                cell.deadline_ms = now_ms + self.limits.lock_ms
            elif kind is RELEASE:
                cell.outcome = self.returned(cell)
            else:
                cell.outcome = ACKNOWLEDGED if kind is ACCEPT else ARCHIVED
        return ErrorCode.NONE

    def finish(self, *, is_stored: bool) -> None:
        for offset in self.writing:
            cell = self.cells[offset]
            if is_stored:
                assert cell.outcome is not None
                self.become(cell, cell.outcome)
            else:
                cell.outcome = None
        self.writing = []

    def compare(self, share: SharePartition) -> None:
        while (cell := self.cells.get(self.start)) is not None and cell.state.is_final:
            self.start += 1
        assert share.start_offset == self.start
        seen = {
            offset: (run.state, run.deliveries, run.member, run.deadline_ms, run.outcome)
            for run in share._runs
            for offset in range(run.start, run.end)
        }
        assert seen == {
            offset: (cell.state, cell.deliveries, cell.member, cell.deadline_ms, cell.outcome)
            for offset, cell in self.cells.items()
            if offset >= self.start
        }


members = st.sampled_from(["a", "b"])
steps = st.one_of(
    st.tuples(st.just("acquire"), members, st.integers(1, 12), st.booleans()),
    st.tuples(st.just("say"), members, st.integers(0, 20), st.integers(1, 8), st.sampled_from(AcknowledgeType)),
    st.tuples(st.just("say held"), members, st.integers(0, 5), st.sampled_from(AcknowledgeType)),
    st.tuples(st.just("wait"), st.integers(1, 60)),
    st.tuples(st.just("release"), members),
    st.tuples(st.just("begin")),
    st.tuples(st.just("finish"), st.booleans()),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=4, max_size=8), st.lists(steps, max_size=60))
def test_it_is_as_if_each_offset_were_by_itself(sizes: list[int], steps: list[Any]) -> None:
    limits = ShareLimits(lock_ms=50, deliveries_max=3, records_max=15)
    share, model = SharePartition(0, limits=limits), Model(limits)
    batches, now_ms = log(*sizes), 0
    under_way: Write | None = None
    for step in steps:
        match step:
            case ("acquire", member, records_max, strict):
                acquired = acquire(share, batches, member=member, records_max=records_max, strict=strict, now_ms=now_ms)
                assert not strict or sum(each.end - each.start for each in acquired) <= records_max
                model.acquired(acquired, member, now_ms)
            case ("say", member, start, length, kind):
                if start + length <= share.end_offset:
                    wanted = model.say(member, start, start + length, kind, now_ms)
                    assert say(share, start, start + length, kind, member=member, now_ms=now_ms) is wanted
            case ("say held", member, index, kind):
                for offset in model.held(member)[index : index + 1]:
                    assert model.say(member, offset, offset + 1, kind, now_ms) is ErrorCode.NONE
                    assert say(share, offset, offset + 1, kind, member=member, now_ms=now_ms) is ErrorCode.NONE
            case ("wait", ms):
                now_ms += ms
                late = model.held("", now_ms)
                for offset in late:
                    model.become(model.cells[offset], model.returned(model.cells[offset]))
                assert share.expire(now_ms) == len(late)
            case ("release", member):
                for offset in model.held(member):
                    model.become(model.cells[offset], model.returned(model.cells[offset]))
                share.release(member)
            case ("begin",):
                write = share.begin_write()
                if write is not None:
                    under_way = write
                    model.writing = [offset for offset, cell in model.cells.items() if cell.outcome is not None]
                    check_write(write, model)
            case ("finish", is_stored):
                if under_way is not None:
                    share.finish_write(is_stored=is_stored)
                    model.finish(is_stored=is_stored)
                    if is_stored:
                        keep(under_way, model)
                    under_way = None
        share.check()
        model.compare(share)
    check_restored(SharePartition(model.stored_start, model.stored.values(), limits=limits), model)


def check_write(write: Write, model: Model) -> None:
    """What is stored says of each offset what is so once the write is done; restored, nothing acknowledged comes again."""
    after = {
        offset: cell.outcome or (AVAILABLE if cell.state is ACQUIRED else cell.state)
        for offset, cell in model.cells.items()
    }
    assert all(after[offset].is_final for offset in range(model.start, write.start_offset))
    assert write.start_offset not in after or not after[write.start_offset].is_final
    assert write.complete_count == sum(state.is_final for offset, state in after.items() if offset > write.start_offset)
    told = {offset for batch in write.batches for offset in range(batch.start, batch.end)}
    assert {offset for offset in model.writing if offset >= write.start_offset} <= told
    for batch in write.batches:
        for offset in range(batch.start, batch.end):
            is_held = offset in model.held("")
            assert (batch.state, batch.deliveries) == (after[offset], model.cells[offset].deliveries - is_held)


def keep(write: Write, model: Model) -> None:
    model.stored_start = write.start_offset
    for batch in write.batches:
        for offset in range(batch.start, batch.end):
            model.stored[offset] = StoredBatch(offset, offset + 1, batch.state, batch.deliveries)


def check_restored(restored: SharePartition, model: Model) -> None:
    """After a crash: what was answered as acknowledged stays so, and nothing is lost that was not."""
    restored.check()
    done = {offset for run in restored._runs if run.state.is_final for offset in range(run.start, run.end)}
    for offset, cell in model.cells.items():
        was_answered = cell.state is ACKNOWLEDGED
        is_done = offset < restored.start_offset or offset in done
        assert is_done or not was_answered
        assert cell.deliveries <= model.limits.deliveries_max
        assert not is_done or cell.state.is_final
