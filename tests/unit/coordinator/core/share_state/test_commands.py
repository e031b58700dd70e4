"""What a share partition's state is asked: epochs fence, the log gives the live state, and nothing is said that was not stored."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from millstream_cluster.decision import Decision
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.share_state.commands import (
    NOT_SAID,
    Answer,
    StateDecision,
    Write,
    delete,
    forget_topics,
    initialize,
    look,
    read,
    write,
)
from millstream_coordinator.core.share_state.machine import ShareStateShard
from millstream_coordinator.core.share_state.record_format import decode_share_state_record, encode_share_state_record
from millstream_coordinator.core.share_state.records import ShareStateRecord
from millstream_coordinator.core.share_state.state import NOT_BEGUN, SharePartition, ShareState, StateBatch
from millstream_wire.codec import DecodeError
from millstream_wire.errors import ErrorCode

KEY = SharePartition("g", UUID(int=7), 3)
ACKNOWLEDGED = StateBatch(10, 14, 2, 1)


class Course:
    """A shard of share state whose records go through the log's format."""

    __test__ = False

    def __init__(self) -> None:
        self.shard = ShareStateShard()
        self.log: list[tuple[bytes, bytes | None]] = []

    def do(self, decide: Callable[[ShareStateShard], StateDecision]) -> Answer:
        decision = decide(self.shard)
        self.write(decision)
        return decision.reply

    def write(self, decision: Decision[ShareStateRecord, Any]) -> None:
        for record in decision.records:
            self.log.append(encode_share_state_record(record))
            self.shard.apply(record)
        self.shard.check()
        assert self.replayed(self.log) == self.shard.states
        # Compaction leaves the last record of each key.
        assert self.replayed(list(dict(self.log).items())) == self.shard.states

    @staticmethod
    def replayed(log: list[tuple[bytes, bytes | None]]) -> dict[SharePartition, ShareState]:
        shard = ShareStateShard()
        for key, value in log:
            record = decode_share_state_record(key, value)
            assert record is not None
            shard.apply(record)
        return shard.states

    def initialize(self, state_epoch: int = 1, start_offset: int = NOT_BEGUN) -> Answer:
        return self.do(lambda s: initialize(s, KEY, state_epoch=state_epoch, start_offset=start_offset, now_ms=1))

    def read(self, leader_epoch: int) -> Answer:
        return self.do(lambda s: read(s, KEY, leader_epoch=leader_epoch, now_ms=2))

    def put(self, *batches: StateBatch, leader_epoch: int = 0, state_epoch: int = 1, start: int = 10) -> Answer:
        asked = Write(
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=len(batches),
            batches=batches,
        )
        return self.do(lambda s: write(s, KEY, asked, 3))


@pytest.fixture
def course() -> Course:
    return Course()


def test_a_partition_is_begun_read_written_and_read_again(course: Course) -> None:
    assert course.read(0).error is ErrorCode.INVALID_REQUEST
    assert course.put().error is ErrorCode.INVALID_REQUEST
    assert course.initialize().error is ErrorCode.NONE
    begun = course.read(4).state
    assert begun is not None
    assert (begun.start_offset, begun.state_epoch, begun.batches) == (NOT_BEGUN, 1, ())
    assert course.put(ACKNOWLEDGED, leader_epoch=4).error is ErrorCode.NONE
    after = course.read(4).state
    assert after is not None
    assert (after.start_offset, after.leader_epoch, after.batches) == (10, 4, (ACKNOWLEDGED,))
    assert after.delivery_complete_count == 1


def test_an_earlier_leader_neither_reads_nor_writes(course: Course) -> None:
    course.initialize()
    course.read(5)
    assert course.read(4).error is ErrorCode.FENCED_LEADER_EPOCH
    assert course.put(leader_epoch=4).error is ErrorCode.FENCED_LEADER_EPOCH
    assert course.read(NOT_SAID).error is ErrorCode.NONE
    known = course.shard.states[KEY]
    assert (known.leader_epoch, known.batches) == (5, ())


def test_who_writes_from_before_a_new_beginning_is_told_so(course: Course) -> None:
    course.initialize(state_epoch=1)
    course.put(ACKNOWLEDGED)
    assert course.initialize(state_epoch=3, start_offset=0).error is ErrorCode.NONE
    assert course.put(ACKNOWLEDGED, state_epoch=1).error is ErrorCode.FENCED_STATE_EPOCH
    assert course.initialize(state_epoch=2).error is ErrorCode.FENCED_STATE_EPOCH
    known = course.shard.states[KEY]
    assert (known.start_offset, known.batches, known.delivery_complete_count) == (0, (), 0)


def test_to_begin_twice_with_the_same_is_to_begin_once(course: Course) -> None:
    course.initialize()
    written = len(course.log)
    assert course.initialize().error is ErrorCode.NONE
    assert len(course.log) == written


def test_batches_out_of_order_or_too_many_are_refused(course: Course) -> None:
    course.initialize()
    assert course.put(StateBatch(5, 4, 2, 1)).error is ErrorCode.INVALID_REQUEST
    assert course.put(ACKNOWLEDGED, ACKNOWLEDGED).error is ErrorCode.INVALID_REQUEST
    many = (StateBatch(10 + 2 * number, 10 + 2 * number, 2, 1) for number in range(50_000))
    assert course.put(*many).error is ErrorCode.INVALID_REQUEST
    assert course.shard.states[KEY].start_offset == NOT_BEGUN


def test_what_is_deleted_or_of_a_deleted_topic_is_gone(course: Course) -> None:
    course.initialize()
    assert course.do(lambda s: look(s, KEY)).state is not None
    course.do(lambda s: delete(s, KEY))
    assert course.do(lambda s: look(s, KEY)) == Answer()
    assert course.do(lambda s: delete(s, KEY)) == Answer()
    course.initialize()
    course.write(forget_topics(course.shard, lambda _: True))
    assert course.shard.states
    course.write(forget_topics(course.shard, lambda _: False))
    assert not course.shard.states


def test_records_of_other_kinds_are_left_alone() -> None:
    assert decode_share_state_record(b"\0\1whatever", b"") is None
    claim = ShardClaimed(10_001, 3)
    assert decode_share_state_record(*encode_share_state_record(claim)) == claim
    with pytest.raises(DecodeError):
        decode_share_state_record(b"", None)
