"""Decisions about committed offsets: commit, read, delete, and drop those of groups long gone."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from millstream_cluster.decision import Change, Decision
from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.records import GroupRemoved
from millstream_coordinator.core.classic.subscription import subscribes
from millstream_coordinator.core.consumer import commits
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.group.sessions import GroupForgotten
from millstream_coordinator.core.group_shard.changes import ClassicDismissed, ClassicEntered, ClassicHeard
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import size_of
from millstream_coordinator.core.group_shard.records import CommittedOffset, OffsetCommitted, OffsetRemoved, ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX, Removal
from millstream_coordinator.core.transactions.pending_records import OffsetPending
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

NO_GENERATION = -1
SMALL_COMMIT = 50
"""So many offsets fit into a batch whatever their metadata."""
REMOVALS_MAX = 1_000
"""Records per decision that removes many: they go to the log as one batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetToCommit:
    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    topic_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRequest:
    group_id: str
    generation: int = NO_GENERATION
    """Of a consumer group's member, its epoch."""
    member_id: str = ""
    group_instance_id: str | None = None
    offsets: tuple[OffsetToCommit, ...]
    names_missing_group: bool = False
    """The client knows GROUP_ID_NOT_FOUND as an answer (OffsetCommit 9 and later)."""
    knows_epochs: bool = False
    """The request can come from a consumer group's member (OffsetCommit 9 and later, every TxnOffsetCommit)."""


def commit(shard: GroupShard, request: CommitRequest, now_ms: int) -> Decision[ShardRecord, ErrorCode]:
    """Commit all the offsets, or none with the reason why."""
    group = shard.groups.get(request.group_id)
    if error := commit_refusal(shard, group, request):
        return Decision((), error)
    records: tuple[ShardRecord, ...] = tuple(_committed(request.group_id, offset, now_ms) for offset in request.offsets)
    if shard.pending.offsets:
        # What waits for the end of a transaction is older than this and must not overwrite it.
        for offset in request.offsets:
            records += tuple(shard.pending.dropped(request.group_id, offset.topic, offset.partition))
    if len(records) > SMALL_COMMIT and sum(map(size_of, records)) > COMMAND_BYTES_MAX:
        return Decision((), ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    heard = (ClassicHeard(request.group_id, request.member_id, now_ms),) if group is not None else ()
    return Decision(records, ErrorCode.NONE, heard)


def begin(
    shard: GroupShard, group_id: str, found: Mapping[TopicPartition, int], now_ms: int
) -> Decision[ShardRecord, None]:
    """Commit where the group begins in these partitions, unless it was committed to them meanwhile."""
    known = shard.offsets.get(group_id, {})
    asked = (OffsetToCommit(topic=topic, partition=number, offset=offset) for (topic, number), offset in found.items())
    records = tuple(_committed(group_id, each, now_ms) for each in asked if (each.topic, each.partition) not in known)
    return Decision(records, None)


def _committed(group_id: str, asked: OffsetToCommit, now_ms: int) -> OffsetCommitted:
    committed = CommittedOffset(
        offset=asked.offset,
        leader_epoch=asked.leader_epoch,
        metadata=asked.metadata,
        commit_timestamp_ms=now_ms,
    )
    return OffsetCommitted(group_id, asked.topic, asked.partition, committed)


def commit_refusal(shard: GroupShard, group: ClassicGroup | None, request: CommitRequest) -> ErrorCode:
    """Administrators and consumers without a group commit with no generation, while the group is empty."""
    if request.group_id in shard.shares:
        return ErrorCode.GROUP_ID_NOT_FOUND
    consumer = shard.consumers.get(request.group_id)
    if consumer is not None:
        return _consumer_refusal(consumer, request)
    if group is None:
        if request.generation < 0 or request.group_id in shard.offsets:
            return ErrorCode.NONE if request.generation < 0 else ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.GROUP_ID_NOT_FOUND if request.names_missing_group else ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if request.generation < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if error := group.refusal(request.member_id, request.group_instance_id):
        return error
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _consumer_refusal(group: ConsumerGroup, request: CommitRequest) -> ErrorCode:
    return commits.commit_refusal(
        group,
        request.member_id,
        request.generation,
        (None if each.topic_id is None else (each.topic_id, each.partition) for each in request.offsets),
        knows_epochs=request.knows_epochs,
    )


def delete_offsets(
    shard: GroupShard, group_id: str, partitions: Iterable[TopicPartition], now_ms: int
) -> Decision[ShardRecord, ErrorCode | dict[TopicPartition, ErrorCode]]:
    """Forget these offsets unless a live consumer group reads the topic; an error for all, or one for each."""
    if not shard.knows(group_id) or group_id in shard.shares:
        return Decision((), ErrorCode.GROUP_ID_NOT_FOUND)
    group = shard.groups.get(group_id)
    in_use = group is not None and group.state is not GroupState.EMPTY
    if in_use and group is not None and group.protocol_type != "consumer":
        return Decision((), ErrorCode.NON_EMPTY_GROUP)
    consumer = shard.consumers.get(group_id)
    subscribed = consumer.subscribed_topics() if consumer is not None else frozenset()
    known = shard.offsets.get(group_id, {})
    errors: dict[TopicPartition, ErrorCode] = {}
    records: list[ShardRecord] = []
    for topic, partition in dict.fromkeys(partitions):
        if topic in subscribed or (in_use and group is not None and subscribes(group, topic)):
            errors[topic, partition] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            continue
        errors[topic, partition] = ErrorCode.NONE
        if (topic, partition) in known:
            records.append(OffsetRemoved(group_id, topic, partition))
    then = _keep_as_group(shard, group_id, now_ms) if len(records) == len(known) else ()
    return Decision(tuple(records), errors, then)


def delete_group(shard: GroupShard, group_id: str) -> Decision[ShardRecord, Removal]:
    """Remove an empty group and its offsets, some at a time; the group itself goes last."""
    pending = [replace(each, value=None) for each in shard.pending.of_group(group_id)]
    if not pending and not shard.knows(group_id):
        return Decision((), Removal(ErrorCode.GROUP_ID_NOT_FOUND))
    if shard.state_of(group_id) not in (GroupState.EMPTY, GroupState.DEAD):
        return Decision((), Removal(ErrorCode.NON_EMPTY_GROUP))
    consumer = shard.consumers.get(group_id)
    share = shard.shares.get(group_id)
    if (consumer is not None and consumer.members) or (share is not None and share.members):
        return Decision((), Removal(ErrorCode.NON_EMPTY_GROUP))
    if share is not None and share.kept.names:
        # Its state has to go first, where that is kept.
        return Decision((), Removal(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    removed: list[ShardRecord] = [OffsetRemoved(group_id, *partition) for partition in shard.offsets.get(group_id, {})]
    removed += pending
    if len(removed) > REMOVALS_MAX:
        return Decision(tuple(removed[:REMOVALS_MAX]), Removal(more=True))
    gone, then = _remove_group(shard, group_id)
    return Decision((*removed, *gone), Removal(), then)


def remove_topic(shard: GroupShard, topic: str, now_ms: int) -> Decision[ShardRecord, Removal]:
    """The topic is deleted: offsets in it mean nothing any more, least of all for a new topic of that name."""
    records: list[ShardRecord] = [
        OffsetRemoved(group_id, *partition)
        for group_id, offsets in shard.offsets.items()
        for partition in offsets
        if partition[0] == topic
    ]
    records += (
        OffsetPending(producer_id, *key, None)
        for producer_id, waiting in shard.pending.offsets.items()
        for key in waiting
        if key[1] == topic
    )
    then: list[Change] = []
    for group_id, offsets in shard.offsets.items():
        if all(partition[0] == topic for partition in offsets):
            then += _keep_as_group(shard, group_id, now_ms)
    return Decision(tuple(records[:REMOVALS_MAX]), Removal(more=len(records) > REMOVALS_MAX), tuple(then))


def _keep_as_group(shard: GroupShard, group_id: str, now_ms: int) -> tuple[Change, ...]:
    """What has lost its last offset, and was nothing else, stays a group until the next sweep, as in Kafka."""
    if group_id in shard.groups or group_id in shard.consumers:
        return ()
    return (ClassicEntered(group_id, now_ms),)


def expire(
    shard: GroupShard, *, retention_ms: int, now_ms: int, of_group: Callable[[str], int | None] = lambda _: None
) -> Decision[ShardRecord, Removal]:
    """Drop offsets of groups that were empty for `retention_ms` and not committed to since; then groups without any.
    `of_group` says what a group has of its own.
    """
    records: list[ShardRecord] = []
    then: list[Change] = []
    for group_id in shard.group_ids():
        if group_id in shard.shares:
            continue  # what it has read is kept until somebody deletes the group
        group = shard.groups.get(group_id)
        consumer = shard.consumers.get(group_id)
        if (group is not None and not group.is_unused) or (consumer is not None and consumer.members):
            continue
        if any(shard.pending.of_group(group_id)):
            continue  # a transaction is about to commit to it
        since_ms = group.state_timestamp_ms if group is not None and group.protocol_type is not None else 0
        offsets = shard.offsets.get(group_id, {})
        kept_ms = of_group(group_id) or retention_ms
        expired = [
            partition
            for partition, committed in offsets.items()
            if now_ms - max(since_ms, committed.commit_timestamp_ms) >= kept_ms
        ]
        records += (OffsetRemoved(group_id, *partition) for partition in expired)
        if len(expired) == len(offsets):
            gone, changes = _remove_group(shard, group_id)
            records += gone
            then += changes
        if len(records) >= REMOVALS_MAX:
            return Decision(tuple(records), Removal(more=True), tuple(then))
    return Decision(tuple(records), Removal(), tuple(then))


def _remove_group(shard: GroupShard, group_id: str) -> tuple[tuple[ShardRecord, ...], tuple[Change, ...]]:
    """The tombstones of what is stored of the group, and its end in memory."""
    then = ClassicDismissed(group_id), GroupForgotten(group_id)
    consumer = shard.consumers.get(group_id)
    if consumer is not None:
        return tuple(consumer.tombstones()), then
    share = shard.shares.get(group_id)
    if share is not None:
        return tuple(share.tombstones()), then
    return (GroupRemoved(group_id),) if group_id in shard.stored else (), then
