"""Decisions about the state that a share group has of partitions, which is kept elsewhere: noted here before it is begun or
deleted there, and again after, so that what was left half-way is found and done again.
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_coordinator.core.group.partitions import NO_PARTITIONS, Partitions, TopicIdPartition
from millstream_coordinator.core.group.sessions import MetadataSeen
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.bounds import Removal
from millstream_coordinator.core.share.draft import ShareDraft
from millstream_coordinator.core.share.group import ShareGroup
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

FORGOTTEN_MAX = 100
"""Groups per decision: a group's record may be long."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """What is to be begun or deleted where the state is kept."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    partitions: Partitions = NO_PARTITIONS
    topics: frozenset[UUID] = frozenset()
    """Of a deletion; those that are not there any more have no partitions."""
    state_epoch: int = 0


Change = Decision[ShardRecord, StateChange]


def state_begun(
    shard: GroupShard, group_id: str, partitions: Iterable[TopicIdPartition]
) -> Decision[ShardRecord, Partitions]:
    """The state of these partitions is there: they can be given to members. Which were waited for."""
    group = shard.shares.get(group_id)
    if group is None:
        return Decision((), NO_PARTITIONS)
    draft = ShareDraft(group)
    begun = group.kept.initializing.intersection(partitions)
    if begun:
        draft.keep(group.kept.begun(begun))
        draft.raise_epoch()
    return Decision(tuple(draft.records), begun)


def begin_anew(
    shard: GroupShard, group_id: str, partitions: Iterable[TopicIdPartition], names: Mapping[UUID, str]
) -> Change:
    """An administrator says where an empty group goes on in these partitions, or where a new one begins."""
    is_new = not shard.knows(group_id) and not any(shard.pending.of_group(group_id))
    group = ShareGroup(group_id) if is_new else _empty_group(shard, group_id)
    if isinstance(group, StateChange):
        return Decision((), group)
    if not names:
        return Decision((), StateChange())
    asked = frozenset(each for each in partitions if each[0] not in group.kept.deleting)
    draft = ShareDraft(group)
    draft.raise_epoch()
    draft.keep(group.kept.begin(asked, names))
    return Decision(tuple(draft.records), StateChange(partitions=asked, state_epoch=draft.group.epoch))


def begin_deletion(shard: GroupShard, group_id: str, topics: frozenset[UUID] | None, image: Image) -> Change:
    """The state that an empty group has of these topics, or of all (None), is to go."""
    group = _empty_group(shard, group_id)
    if isinstance(group, StateChange):
        return Decision((), group)
    kept = group.kept.delete(group.kept.names if topics is None else topics)
    draft = ShareDraft(group)
    draft.keep(kept)
    partitions = {
        (topic_id, number)
        for topic_id in kept.deleting
        if (topic := image.topic(topic_id)) is not None
        for number in range(len(topic.partitions))
    }
    return Decision(tuple(draft.records), StateChange(partitions=frozenset(partitions), topics=kept.deleting))


def state_deleted(shard: GroupShard, group_id: str, topics: Iterable[UUID]) -> Decision[ShardRecord, None]:
    group = shard.shares.get(group_id)
    if group is None:
        return Decision((), None)
    draft = ShareDraft(group)
    draft.keep(group.kept.deleted(topics))
    # Whoever joined meanwhile waits for what can be begun only now.
    return Decision(tuple(draft.records), None, (MetadataSeen(group_id, None),))


def forget_missing_topics(shard: GroupShard, image: Image) -> Decision[ShardRecord, Removal]:
    """Topics were deleted: their state goes by itself where it is kept, here what is known of it."""
    records: list[ShardRecord] = []
    found = 0
    for group in shard.shares.values():
        missing = {topic_id for topic_id in group.kept.names if image.topic(topic_id) is None}
        if missing:
            draft = ShareDraft(group)
            draft.keep(group.kept.delete(missing).deleted(missing))
            records += draft.records
            found += 1
        if found >= FORGOTTEN_MAX:
            break
    return Decision(tuple(records), Removal(more=found >= FORGOTTEN_MAX))


def _empty_group(shard: GroupShard, group_id: str) -> ShareGroup | StateChange:
    group = shard.shares.get(group_id)
    if group is None:
        what = "is not a share group" if shard.knows(group_id) else "not found"
        return StateChange(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
    if group.members:
        return StateChange(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
    return group
