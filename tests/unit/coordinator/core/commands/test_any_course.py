"""Any course of all that is done to the offsets of a shard: the log alone, and the log compacted, give the live state."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from millstream_coordinator.core.commands.offsets import (
    CommitRequest,
    OffsetToCommit,
    begin,
    commit,
    delete_group,
    delete_offsets,
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

GROUPS = st.sampled_from(["g", "h"])
TOPICS = st.sampled_from(["t", "u"])
PARTITIONS = st.sampled_from([0, 1])
PRODUCERS = st.sampled_from([1, 2])


class ShardCourse(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.shard = GroupShard(GroupLimits())
        self.log: list[tuple[bytes, bytes | None]] = []
        self.now_ms = 1_000

    @rule(
        group=GROUPS, topic=TOPICS, partition=PARTITIONS, offset=st.integers(0, 99), metadata=st.sampled_from(["", "ü"])
    )
    def commit(self, group: str, topic: str, partition: int, offset: int, metadata: str) -> None:
        asked = OffsetToCommit(topic=topic, partition=partition, offset=offset, metadata=metadata)
        error = self._do(commit(self.shard, CommitRequest(group_id=group, offsets=(asked,)), self.now_ms))
        assert error is ErrorCode.NONE
        assert self.shard.offsets[group][topic, partition].offset == offset

    @rule(group=GROUPS, topic=TOPICS, partition=PARTITIONS, offset=st.integers(0, 99))
    def begin(self, group: str, topic: str, partition: int, offset: int) -> None:
        before = self.shard.offsets.get(group, {}).get((topic, partition))
        self._do(begin(self.shard, group, {(topic, partition): offset}, self.now_ms))
        after = self.shard.offsets[group][topic, partition]
        assert after == before or (before is None and after.offset == offset)

    @rule(group=GROUPS, topic=TOPICS, partition=PARTITIONS, producer_id=PRODUCERS, epoch=st.integers(0, 3))
    def pend(self, group: str, topic: str, partition: int, producer_id: int, epoch: int) -> None:
        asked = OffsetToCommit(topic=topic, partition=partition, offset=self.now_ms)
        request = TransactionalCommit(
            commit=CommitRequest(group_id=group, offsets=(asked,)),
            producer_id=producer_id,
            producer_epoch=epoch,
            markers=self.shard.pending.markers(producer_id),
        )
        self._do(commit_in_transaction(self.shard, request, self.now_ms))

    @rule(
        producer_id=PRODUCERS,
        epoch=st.integers(0, 3),
        term=st.integers(0, 2),
        committed=st.booleans(),
        version=st.sampled_from([0, 2]),
    )
    def end(self, producer_id: int, epoch: int, term: int, committed: bool, version: int) -> None:
        marker = Marker(
            producer_id=producer_id,
            producer_epoch=epoch,
            coordinator_epoch=term,
            committed=committed,
            transaction_version=version,
        )
        before = {group: dict(offsets) for group, offsets in self.shard.offsets.items()}
        if self._do(end_in_group(self.shard, marker, self.now_ms)) is not ErrorCode.NONE or not committed:
            assert self.shard.offsets == before, "who is refused, or aborts, commits nothing"

    @rule(group=GROUPS, topic=TOPICS, partition=PARTITIONS)
    def delete_offset(self, group: str, topic: str, partition: int) -> None:
        self._do(delete_offsets(self.shard, group, [(topic, partition)], self.now_ms))

    @rule(group=GROUPS)
    def delete_group(self, group: str) -> None:
        if self._do(delete_group(self.shard, group)).error is ErrorCode.NONE:
            assert not self.shard.knows(group)

    @rule(topic=TOPICS)
    def delete_topic(self, topic: str) -> None:
        self._do(remove_topic(self.shard, topic, self.now_ms))
        assert not any(each[0] == topic for offsets in self.shard.offsets.values() for each in offsets)

    @rule(elapsed_ms=st.sampled_from([0, 10, 1_000]))
    def pass_time(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        self._do(expire(self.shard, retention_ms=500, now_ms=self.now_ms))
        self._do(forget_producers(self.shard, expiration_ms=500, now_ms=self.now_ms))

    @rule()
    def crash(self) -> None:
        self.shard = _replayed(self.log)

    @invariant()
    def the_log_gives_the_live_state(self) -> None:
        self.shard.check()
        assert _state(_replayed(self.log)) == _state(self.shard)
        compacted: dict[bytes, bytes | None] = {}
        for key, value in self.log:
            compacted.pop(key, None)
            compacted[key] = value
        assert _state(_replayed(compacted.items())) == _state(self.shard)

    def _do(self, decision: Any) -> Any:
        for record in decision.records:
            self.shard.apply(record)
            self.log.append(encode_record(record))
        for change in decision.then:
            change.make(self.shard)
        return decision.reply


def _replayed(log: Any) -> GroupShard:
    shard = GroupShard(GroupLimits())
    for key, value in log:
        record = decode_record(key, value)
        if record is not None:
            shard.apply(record)
    shard.check()
    return shard


def _state(shard: GroupShard) -> Any:
    return shard.offsets, shard.stored, shard.pending.offsets, shard.pending.producers


ShardCourse.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestShardCourse = ShardCourse.TestCase
