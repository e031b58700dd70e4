"""Offsets inside transactions, at the group's shard: they wait, then all are committed or all are gone, whoever asks again."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from millstream_coordinator.core.commands.offsets import (
    CommitRequest,
    OffsetToCommit,
    commit,
    delete_group,
    expire,
    remove_topic,
)
from millstream_coordinator.core.commands.transactional_offsets import (
    Marker,
    TransactionalCommit,
    commit_in_transaction,
    end_in_group,
    forget_producers,
)
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_wire.errors import ErrorCode


class Live:
    def __init__(self) -> None:
        self.shard = GroupShard(GroupLimits())
        self.log: list[tuple[bytes, bytes | None]] = []
        self.now_ms = 1_000

    def do(self, decision: Any) -> Any:
        for record in decision.records:
            self.shard.apply(record)
            self.log.append(encode_record(record))
        for change in decision.then:
            change.make(self.shard)
        self.shard.check()
        return decision.reply

    def commit(self, offset: int, *, partition: int = 0) -> ErrorCode:
        return self.do(commit(self.shard, asked(offset, partition), self.now_ms))

    def pend(
        self, offset: int, *, producer_id: int = 7, epoch: int = 0, partition: int = 0, markers: int | None = None
    ) -> ErrorCode:
        request = TransactionalCommit(
            commit=asked(offset, partition),
            producer_id=producer_id,
            producer_epoch=epoch,
            markers=self.shard.pending.markers(producer_id) if markers is None else markers,
        )
        return self.do(commit_in_transaction(self.shard, request, self.now_ms))

    def end(
        self,
        *,
        producer_id: int = 7,
        epoch: int = 0,
        coordinator_epoch: int = 0,
        committed: bool = True,
        version: int = 0,
    ) -> ErrorCode:
        marker = Marker(
            producer_id=producer_id,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            committed=committed,
            transaction_version=version,
        )
        return self.do(end_in_group(self.shard, marker, self.now_ms))

    def offsets(self) -> dict[int, int]:
        return {partition: found.offset for (_, partition), found in self.shard.offsets.get("g", {}).items()}

    def replayed(self) -> GroupShard:
        shard = GroupShard(GroupLimits())
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            shard.apply(record)
        return shard


def asked(offset: int, partition: int) -> CommitRequest:
    wanted = OffsetToCommit(topic="t", partition=partition, offset=offset, leader_epoch=3, metadata="näher")
    return CommitRequest(group_id="g", offsets=(wanted,))


def test_pending_offsets_become_commits_with_the_marker() -> None:
    live = Live()
    live.commit(1)
    assert live.pend(5) is ErrorCode.NONE
    assert live.pend(6, partition=1) is ErrorCode.NONE
    assert live.offsets() == {0: 1}
    assert live.end() is ErrorCode.NONE
    assert live.offsets() == {0: 5, 1: 6}
    found = live.shard.offsets["g"]["t", 0]
    assert (found.leader_epoch, found.metadata) == (3, "näher")
    assert live.end() is ErrorCode.NONE
    assert live.offsets() == {0: 5, 1: 6}
    assert live.shard.pending.offsets == {}


def test_pending_offsets_are_gone_with_an_abort() -> None:
    live = Live()
    live.commit(1)
    live.pend(5)
    assert live.end(epoch=1, committed=False) is ErrorCode.NONE
    assert live.offsets() == {0: 1}
    assert live.pend(6) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_older_pending_offset_does_not_overwrite_a_newer_commit() -> None:
    live = Live()
    live.pend(5)
    live.commit(9)
    live.end()
    assert live.offsets() == {0: 9}


def test_of_two_transactions_the_one_that_committed_an_offset_later_wins() -> None:
    live = Live()
    live.pend(5, producer_id=1)
    live.pend(6, producer_id=2)
    live.end(producer_id=2)
    live.end(producer_id=1)
    assert live.offsets() == {0: 6}


def test_a_registration_from_before_a_marker_is_void() -> None:
    live = Live()
    live.pend(5)
    before = live.shard.pending.markers(7)
    live.end()
    assert live.pend(6, markers=before) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert live.offsets() == {0: 5}


def test_deposed_producers_and_coordinators_end_nothing() -> None:
    live = Live()
    live.pend(5, epoch=2)
    assert live.end(epoch=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    live.end(epoch=2, coordinator_epoch=4)
    live.pend(6, epoch=2)
    assert live.end(epoch=2, coordinator_epoch=3) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert live.offsets() == {0: 5}


def test_a_marker_of_version_2_that_comes_late_ends_nothing_of_the_next_transaction() -> None:
    live = Live()
    live.pend(5)
    assert live.end(epoch=1, version=2) is ErrorCode.NONE
    assert live.end(epoch=1, version=2) is ErrorCode.NONE
    assert live.pend(6) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert live.pend(7, epoch=1) is ErrorCode.NONE
    assert live.end(epoch=1, version=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert live.offsets() == {0: 5}
    assert live.end(epoch=2, version=2) is ErrorCode.NONE
    assert live.offsets() == {0: 7}


def test_what_waits_goes_with_its_group_and_its_topic_and_keeps_the_group_from_expiring() -> None:
    live = Live()
    live.commit(1)
    live.pend(5, partition=1)
    live.now_ms += 10_000
    assert live.do(expire(live.shard, retention_ms=1, now_ms=live.now_ms)).error is ErrorCode.NONE
    assert live.offsets() == {0: 1}
    live.do(delete_group(live.shard, "g"))
    live.end()
    assert live.offsets() == {}
    live.pend(5)
    live.do(remove_topic(live.shard, "t", live.now_ms))
    live.end()
    assert live.offsets() == {}


def test_silent_producers_are_forgotten_unless_something_waits_for_them() -> None:
    live = Live()
    live.pend(5)
    live.end(producer_id=8)
    live.now_ms += 100
    assert not live.do(forget_producers(live.shard, expiration_ms=100, now_ms=live.now_ms)).more
    assert live.shard.pending.producers.keys() == {7}


def test_more_than_a_marker_could_turn_into_one_batch_is_refused() -> None:
    live = Live()
    wanted = tuple(OffsetToCommit(topic="t", partition=n, offset=1, metadata="m" * 4_000) for n in range(100))
    request = TransactionalCommit(
        commit=CommitRequest(group_id="g", offsets=wanted), producer_id=7, producer_epoch=0, markers=0
    )
    assert live.do(commit_in_transaction(live.shard, request, 0)) is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    assert live.log == []


class AnyCourse(RuleBasedStateMachine):
    """Commits inside and outside transactions of two producers, beside a model that knows what must come of them."""

    def __init__(self) -> None:
        super().__init__()
        self.live = Live()
        self.expected: dict[int, int] = {}
        self.waiting: dict[int, dict[int, int]] = {1: {}, 2: {}}
        self.next_offset = 0

    producers = st.sampled_from([1, 2])
    partitions = st.sampled_from([0, 1])

    @rule(partition=partitions)
    def commit(self, partition: int) -> None:
        self.next_offset += 1
        assert self.live.commit(self.next_offset, partition=partition) is ErrorCode.NONE
        self.expected[partition] = self.next_offset
        for waiting in self.waiting.values():
            waiting.pop(partition, None)

    @rule(producer_id=producers, partition=partitions)
    def pend(self, producer_id: int, partition: int) -> None:
        self.next_offset += 1
        assert self.live.pend(self.next_offset, producer_id=producer_id, partition=partition) is ErrorCode.NONE
        self.waiting[producer_id][partition] = self.next_offset

    @rule(producer_id=producers, committed=st.booleans(), times=st.integers(1, 2))
    def end(self, producer_id: int, committed: bool, times: int) -> None:
        for _ in range(times):
            assert self.live.end(producer_id=producer_id, committed=committed) is ErrorCode.NONE
        ended, self.waiting[producer_id] = self.waiting[producer_id], {}
        if committed:
            self.expected |= ended
            for waiting in self.waiting.values():
                for partition, offset in ended.items():
                    if waiting.get(partition, offset) < offset:
                        del waiting[partition]

    @rule()
    def crash(self) -> None:
        self.live.shard = self.live.replayed()

    @invariant()
    def it_is_as_expected_and_so_is_the_log(self) -> None:
        assert self.live.offsets() == self.expected
        replayed = self.live.replayed()
        assert replayed.offsets == self.live.shard.offsets
        assert replayed.pending.offsets == self.live.shard.pending.offsets
        assert replayed.pending.producers == self.live.shard.pending.producers


AnyCourse.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestAnyCourse = AnyCourse.TestCase
