"""What a follower asks and does with the answers: single answers first, then whole histories of two logs."""

import random
from bisect import bisect_right
from dataclasses import dataclass, field

import pytest

from millstream_broker.core.partition.follower import (
    Answer,
    Append,
    BackOff,
    Effect,
    FetchFrom,
    Follow,
    Follower,
    Phase,
    Truncate,
    TruncateFully,
)
from millstream_log import EpochEnd, EpochStart
from millstream_wire.errors import ErrorCode
from millstream_wire.records import BatchHeader


@dataclass
class ListLog:
    """A log of (epoch, number) records; what a leader and a follower ask of one."""

    records: list[tuple[int, int]] = field(default_factory=list)
    log_start_offset: int = 0
    base_offset: int = 0
    noted: int = -1
    """An epoch that was noted before its first record could be written."""

    @property
    def log_end_offset(self) -> int:
        return self.base_offset + len(self.records)

    @property
    def epochs(self) -> tuple[EpochStart, ...]:
        found: list[EpochStart] = []
        for offset, (epoch, _) in enumerate(self.records, self.base_offset):
            if offset >= self.log_start_offset and (not found or epoch > found[-1].epoch):
                found.append(EpochStart(epoch, offset))
        if self.noted > (found[-1].epoch if found else -1):
            found.append(EpochStart(self.noted, self.log_end_offset))
        return tuple(found)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        epochs = self.epochs
        if not epochs or epoch > epochs[-1].epoch:
            return EpochEnd(-1, -1)
        if epoch == epochs[-1].epoch:
            return EpochEnd(epoch, self.log_end_offset)
        following = bisect_right([each.epoch for each in epochs], epoch)
        return EpochEnd(epochs[following - 1].epoch if following else epoch, epochs[following].start_offset)

    def cut(self, offset: int) -> None:
        del self.records[offset - self.base_offset :]
        self.noted = -1


def log_of(*epochs: int, start: int = 0) -> ListLog:
    """One record for each of these epochs."""
    return ListLog([(epoch, index) for index, epoch in enumerate(epochs)], start, start)


def batch(base_offset: int, epoch: int = 3, count: int = 1) -> BatchHeader:
    return BatchHeader(base_offset, 49, epoch, 2, 0, 0, count - 1, 0, 0, -1, -1, -1, count)


def answered(
    log: ListLog, answer: Answer, *, epoch: int = 5, high_watermark: int = 0, may_have_gaps: bool = False
) -> tuple[Effect, ...]:
    follower = Follower(2, epoch, log)
    asked = follower.question()
    assert asked is not None
    effects = follower.on_answer(
        asked, answer, high_watermark=high_watermark, may_have_gaps=may_have_gaps, backoff_max_ms=1_000
    )
    follower.check()
    return effects


def diverging(log: ListLog, epoch: int, end_offset: int, high_watermark: int = 0) -> tuple[Effect, ...]:
    answer = Answer(diverging_epoch=epoch, diverging_end_offset=end_offset)
    return answered(log, answer, high_watermark=high_watermark)


def test_it_asks_for_what_follows_its_log_and_says_its_last_epoch() -> None:
    assert Follower(2, 7, log_of(1, 1, 4, start=10)).question() == FetchFrom(13, 7, 4, 10)


def test_an_empty_log_has_no_last_epoch() -> None:
    assert Follower(2, 7, ListLog()).question() == FetchFrom(0, 7, -1, 0)


def test_batches_are_appended_and_the_leader_is_followed() -> None:
    answer = Answer(high_watermark=2, log_start_offset=0, batches=[batch(1, 3), batch(2, 5, count=3)])
    assert answered(log_of(3), answer) == (Append(2), Follow(2, 0))


def test_news_without_records() -> None:
    assert answered(log_of(3), Answer(high_watermark=1, log_start_offset=1)) == (Follow(1, 1),)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (batch(1), "a batch at offset 1 where 2 is next"),
        (batch(3), "offsets 2 to 3 are missing in a log that was never compacted"),
        (batch(2, epoch=2), "a batch of epoch 2 after 3, from the leader of 5"),
        (batch(2, epoch=6), "a batch of epoch 6 after 3, from the leader of 5"),
    ],
)
def test_a_wrong_batch_is_refused_and_what_comes_before_it_is_taken(wrong: BatchHeader, reason: str) -> None:
    assert answered(log_of(3, 3), Answer(batches=[wrong])) == (BackOff(20, reason, is_news=True),)
    good = Answer(high_watermark=0, log_start_offset=0, batches=[batch(1), wrong])
    assert answered(log_of(3), good) == (Append(1), Follow(0, 0))


def test_a_compacted_topic_has_gaps() -> None:
    answer = Answer(high_watermark=0, log_start_offset=0, batches=[batch(4), batch(9)])
    assert answered(log_of(3), answer, may_have_gaps=True) == (Append(2), Follow(0, 0))


def test_what_cannot_be_read_is_asked_for_again() -> None:
    assert answered(log_of(3), Answer(unreadable="the checksum does not match")) == (
        BackOff(20, "the checksum does not match", is_news=True),
    )
    partly = Answer(high_watermark=0, log_start_offset=0, batches=[batch(1)], unreadable="the checksum does not match")
    assert answered(log_of(3), partly) == (Append(1), Follow(0, 0))


def test_the_cut_is_where_either_log_ends_the_epoch() -> None:
    log = log_of(1, 1, 1, 3, 3)
    assert diverging(log, 3, 4) == (Truncate(4),), "the leader has less of our last epoch"
    assert diverging(log, 2, 9) == (Truncate(3),), "the leader has more of an epoch that we have less of"
    assert diverging(log, 1, 2) == (Truncate(2),)
    assert diverging(log, 0, 2) == (Truncate(0),), "nothing of ours is as old"
    assert diverging(log, 7, 4) == (Truncate(4),), "an epoch that we do not know ends nowhere here"


def test_a_cut_before_the_start_leaves_nothing() -> None:
    assert diverging(log_of(3, 3, start=10), 2, 7) == (TruncateFully(7),)


def test_committed_records_that_go_are_counted() -> None:
    assert diverging(log_of(1, 1, 1), 1, 1, high_watermark=3) == (Truncate(1, committed=2),)


def test_an_epoch_that_was_noted_and_wrote_nothing_is_cut_as_well() -> None:
    log = log_of(1, 1)
    log.noted = 4
    assert diverging(log, 1, 2) == (Truncate(2),)


def out_of_range(log: ListLog, leader_start: int, high_watermark: int = 0) -> tuple[Effect, ...]:
    answer = Answer(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=leader_start)
    return answered(log, answer, high_watermark=high_watermark)


def test_behind_the_leaders_start_everything_is_copied_again() -> None:
    assert out_of_range(log_of(1, 1), 7, high_watermark=2) == (TruncateFully(7),)


def test_an_empty_log_beyond_the_leaders_end_begins_where_the_leader_does() -> None:
    assert out_of_range(log_of(start=20), 7, high_watermark=20) == (TruncateFully(7, committed=13),)


def test_records_are_not_dropped_because_a_leader_says_no_more_than_out_of_range() -> None:
    back_off = BackOff(20, "OFFSET_OUT_OF_RANGE", is_news=True)
    assert out_of_range(log_of(1, 1), 0) == (back_off,)
    assert out_of_range(log_of(1, 1), -1) == (back_off,)


def test_a_leaders_log_that_begins_inside_a_batch_is_copied_with_the_whole_batch() -> None:
    log = log_of(start=5)
    answer = Answer(high_watermark=9, log_start_offset=5, batches=[batch(3, count=4), batch(7, count=2)])
    assert answered(log, answer) == (TruncateFully(3), Append(2), Follow(9, 5))


def test_it_asks_nothing_while_it_is_cut_and_while_it_rests() -> None:
    log = log_of(1, 3)
    follower = Follower(2, 5, log)
    asked = follower.question()
    assert asked is not None
    news = Answer(diverging_epoch=1, diverging_end_offset=1)
    assert follower.on_answer(asked, news, high_watermark=0, may_have_gaps=False, backoff_max_ms=9) == (Truncate(1),)
    assert follower.question() is None
    log.cut(1)
    follower.on_truncated()
    assert follower.question() == FetchFrom(1, 5, 1, 0)
    follower.on_failed("no connection", 9)
    assert (follower.phase, follower.question()) == (Phase.BACKING_OFF, None)
    follower.on_rested()
    assert follower.question() == FetchFrom(1, 5, 1, 0)


def test_an_answer_to_another_question_says_nothing() -> None:
    log = log_of(1)
    follower = Follower(2, 5, log)
    asked = follower.question()
    assert asked is not None
    log.records.append((1, 1))
    late = Answer(batches=[batch(1, 1)])
    assert follower.on_answer(asked, late, high_watermark=0, may_have_gaps=False, backoff_max_ms=9) == ()


def test_it_waits_longer_each_time_and_tells_a_reason_once() -> None:
    follower = Follower(2, 5, log_of(1))
    waits: list[tuple[int, bool]] = []
    for reason in ("a", "a", "a", "b", "b", "b", "b"):
        (effect,) = follower.on_failed(reason, 500)
        assert isinstance(effect, BackOff)
        waits.append((effect.wait_ms, effect.is_news))
        follower.on_rested()
    assert waits == [(20, True), (40, False), (80, False), (160, True), (320, False), (500, False), (500, False)]
    asked = follower.question()
    assert asked is not None
    follower.on_answer(asked, Answer(), high_watermark=0, may_have_gaps=False, backoff_max_ms=9)
    follower.on_followed()
    assert follower.on_failed("b", 500) == (BackOff(20, "b", is_news=True),)


def test_a_log_that_refuses_is_told_to_the_leader_at_once_and_until_it_takes_something() -> None:
    log = log_of(1, 1)
    follower = Follower(2, 5, log)
    assert follower.on_append_failed("it is full", 1_000) == (BackOff(0, "it is full", is_news=True),)
    follower.on_rested()
    assert follower.question() == FetchFrom(2, 5, 1, 0, cannot_append=True)
    assert follower.on_append_failed("it is full", 1_000) == (BackOff(40, "it is full", is_news=False),)
    follower.on_rested()
    follower.on_followed()
    assert follower.question() == FetchFrom(2, 5, 1, 0, cannot_append=True), "an answer without records proves nothing"
    follower.on_refusal_over()
    assert follower.question() == FetchFrom(2, 5, 1, 0)


def test_a_log_that_begins_anew_may_take_what_it_refused() -> None:
    follower = Follower(2, 5, log_of(1, 1))
    follower.on_append_failed("it is full", 1_000)
    follower.on_rested()
    asked = follower.question()
    assert asked is not None
    answer = Answer(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=7)
    follower.on_answer(asked, answer, high_watermark=2, may_have_gaps=False, backoff_max_ms=9)
    follower.on_truncated()
    assert follower.question() == FetchFrom(2, 5, 1, 0)


def test_a_leader_that_learns_later_that_it_leads_is_no_news_unless_it_lasts() -> None:
    follower = Follower(2, 5, log_of(1))
    told: list[bool] = []
    for _ in range(8):
        asked = follower.question()
        assert asked is not None
        answer = Answer(ErrorCode.UNKNOWN_LEADER_EPOCH)
        (effect,) = follower.on_answer(asked, answer, high_watermark=0, may_have_gaps=False, backoff_max_ms=500)
        assert isinstance(effect, BackOff)
        told.append(effect.is_news)
        follower.on_rested()
    assert told == [False] * 5 + [True, False, False], "once, when it has waited for as long as it ever does"


# ---- whole histories ----


def leads(leader: ListLog, asked: FetchFrom, leader_epoch: int) -> Answer:
    """As api/fetch.py answers a follower that names its last epoch."""
    start, end = leader.log_start_offset, leader.log_end_offset
    if asked.last_fetched_epoch >= 0:
        epochs = leader.epochs
        ended = leader.end_of_epoch(asked.last_fetched_epoch)
        if asked.last_fetched_epoch == leader_epoch:
            ended = EpochEnd(leader_epoch, end)
        elif not epochs or asked.last_fetched_epoch > epochs[-1].epoch:
            ended = EpochEnd(epochs[-1].epoch if epochs else asked.last_fetched_epoch, end)
        if ended.epoch != asked.last_fetched_epoch or ended.end_offset < asked.offset:
            return Answer(diverging_epoch=ended.epoch, diverging_end_offset=ended.end_offset)
    if not start <= asked.offset <= end:
        return Answer(ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=start)
    batches = [
        batch(offset, leader.records[offset - leader.base_offset][0])
        for offset in range(asked.offset, min(end, asked.offset + 2))
    ]
    return Answer(high_watermark=end, log_start_offset=start, batches=batches)


def copy(leader: ListLog, own: ListLog, leader_epoch: int) -> int:
    """Follow until there is nothing more; the least offset that the log was cut to."""
    follower = Follower(9, leader_epoch, own)
    least = own.log_end_offset
    for _ in range(100):
        asked = follower.question()
        assert asked is not None
        answer = leads(leader, asked, leader_epoch)
        for effect in follower.on_answer(asked, answer, high_watermark=0, may_have_gaps=False, backoff_max_ms=9):
            match effect:
                case Truncate(offset):
                    assert own.log_start_offset <= offset <= own.log_end_offset
                    own.cut(offset)
                    follower.on_truncated()
                case TruncateFully(start):
                    own.records, own.log_start_offset, own.base_offset, own.noted = [], start, start, -1
                    follower.on_truncated()
                case Append(count=count):
                    at = own.log_end_offset - leader.base_offset
                    own.records += leader.records[at : at + count]
                case Follow():
                    if asked.offset == leader.log_end_offset:
                        return least
                case BackOff():
                    raise AssertionError(effect)
        least = min(least, own.log_end_offset)
        follower.check()
    raise AssertionError("it does not come to an end")


def common(one: ListLog, other: ListLog) -> int:
    """Up to where two logs hold the same."""
    offset = max(one.base_offset, other.base_offset)
    end = min(one.log_end_offset, other.log_end_offset)
    while offset < end and one.records[offset - one.base_offset] == other.records[offset - other.base_offset]:
        offset += 1
    return offset


@pytest.mark.parametrize("seed", range(300))
def test_three_logs_agree_after_any_history_of_leaders(seed: int) -> None:
    """Leaders change without regard to who has what: the log of the last one wins, and no more is cut than differs."""
    draw = random.Random(seed)
    logs = [ListLog() for _ in range(3)]
    numbers = iter(range(10_000))
    for leader_epoch in range(1, draw.randint(2, 9)):
        at = draw.randrange(3)
        leader = logs[at]
        for _ in range(draw.randint(0, 4)):
            leader.records.append((leader_epoch, next(numbers)))
        for other in range(3):
            if other != at and draw.random() < 0.5:
                before = common(leader, logs[other])
                assert copy(leader, logs[other], leader_epoch) >= before, "it cut what was the same"
                assert logs[other].records == leader.records
        for log in logs:
            if draw.random() < 0.2:
                log.noted = leader_epoch if log is leader else -1
    copy(logs[0], logs[1], 20)
    copy(logs[0], logs[2], 20)
    assert logs[0].records == logs[1].records == logs[2].records


@pytest.mark.parametrize("seed", range(100))
def test_a_follower_finds_its_way_into_a_log_that_begins_somewhere_else(seed: int) -> None:
    draw = random.Random(seed)
    leader = ListLog([(each // 3 * 2 + 1, each) for each in range(draw.randint(0, 12))])
    leader.log_start_offset = draw.randint(0, leader.log_end_offset)
    start = draw.randint(0, 15)
    own = ListLog([(each // 2 * 2, 100 + each) for each in range(draw.randint(0, 6))], start, start)
    copy(leader, own, 9)
    assert own.log_end_offset == leader.log_end_offset
    first = max(own.base_offset, leader.log_start_offset)  # what the leader has no more cannot be compared
    assert own.records[first - own.base_offset :] == leader.records[first:]
