"""A share group's records in the bytes of `__consumer_offsets`, as Kafka writes them. A record without value is a tombstone."""

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never
from uuid import UUID

from millstream_coordinator.core.group.epochs import GroupEpoch, TargetEpoch
from millstream_coordinator.core.group.partitions import Partitions, by_topic
from millstream_coordinator.core.share.kept import Kept
from millstream_coordinator.core.share.member import ShareCurrent, ShareMember
from millstream_coordinator.core.share.records import (
    ShareCurrentStored,
    ShareEpochStored,
    ShareKeptStored,
    ShareMemberStored,
    ShareRecord,
    ShareTargetEpochStored,
    ShareTargetStored,
)
from millstream_wire import stored as s
from millstream_wire.codec import decode_stored, encode_stored
from millstream_wire.schema import Stored
from millstream_wire.stored.share_group import TopicInfo, TopicPartitions, TopicPartitionsInfo

MEMBER, GROUP, TARGET_EPOCH, TARGET, CURRENT, KEPT = 10, 11, 12, 13, 14, 15
"""The kinds of keys."""
VALUE_VERSION = 0


def encode_share_record(record: ShareRecord) -> tuple[bytes, bytes | None]:
    value = record.value
    encoded = None if value is None else encode_stored(_stored_value(value), VALUE_VERSION)
    group_id = record.group_id
    match record:
        case ShareMemberStored():
            key = s.ShareGroupMemberMetadataKey(group_id=group_id, member_id=record.member_id)
            return encode_stored(key, MEMBER), encoded
        case ShareEpochStored():
            return encode_stored(s.ShareGroupMetadataKey(group_id=group_id), GROUP), encoded
        case ShareTargetEpochStored():
            return encode_stored(s.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), TARGET_EPOCH), encoded
        case ShareTargetStored():
            target_key = s.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=record.member_id)
            return encode_stored(target_key, TARGET), encoded
        case ShareCurrentStored():
            current_key = s.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=record.member_id)
            return encode_stored(current_key, CURRENT), encoded
        case ShareKeptStored():
            return encode_stored(s.ShareGroupStatePartitionMetadataKey(group_id=group_id), KEPT), encoded
        case _:
            assert_never(record)


def _decode_member(key: bytes, value: bytes | None) -> ShareRecord:
    named = decode_stored(s.ShareGroupMemberMetadataKey, key)
    if value is None:
        return ShareMemberStored(named.group_id, named.member_id, None)
    stored = decode_stored(s.ShareGroupMemberMetadataValue, value)
    member = ShareMember(
        member_id=named.member_id,
        rack_id=stored.rack_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        topics=tuple(stored.subscribed_topic_names),
    )
    return ShareMemberStored(named.group_id, named.member_id, member)


def _decode_group(key: bytes, value: bytes | None) -> ShareRecord:
    group_id = decode_stored(s.ShareGroupMetadataKey, key).group_id
    if value is None:
        return ShareEpochStored(group_id, None)
    stored = decode_stored(s.ShareGroupMetadataValue, value)
    return ShareEpochStored(group_id, GroupEpoch(stored.epoch, stored.metadata_hash))


def _decode_target_epoch(key: bytes, value: bytes | None) -> ShareRecord:
    group_id = decode_stored(s.ShareGroupTargetAssignmentMetadataKey, key).group_id
    if value is None:
        return ShareTargetEpochStored(group_id, None)
    stored = decode_stored(s.ShareGroupTargetAssignmentMetadataValue, value)
    return ShareTargetEpochStored(group_id, TargetEpoch(stored.assignment_epoch, stored.assignment_timestamp))


def _decode_target(key: bytes, value: bytes | None) -> ShareRecord:
    named = decode_stored(s.ShareGroupTargetAssignmentMemberKey, key)
    if value is None:
        return ShareTargetStored(named.group_id, named.member_id, None)
    stored = decode_stored(s.ShareGroupTargetAssignmentMemberValue, value)
    return ShareTargetStored(named.group_id, named.member_id, _partitions(stored.topic_partitions))


def _decode_current(key: bytes, value: bytes | None) -> ShareRecord:
    named = decode_stored(s.ShareGroupCurrentMemberAssignmentKey, key)
    if value is None:
        return ShareCurrentStored(named.group_id, named.member_id, None)
    stored = decode_stored(s.ShareGroupCurrentMemberAssignmentValue, value)
    current = ShareCurrent(
        epoch=stored.member_epoch,
        previous_epoch=stored.previous_member_epoch,
        assigned=_partitions(stored.assigned_partitions),
    )
    return ShareCurrentStored(named.group_id, named.member_id, current)


def _decode_kept(key: bytes, value: bytes | None) -> ShareRecord:
    group_id = decode_stored(s.ShareGroupStatePartitionMetadataKey, key).group_id
    if value is None:
        return ShareKeptStored(group_id, None)
    stored = decode_stored(s.ShareGroupStatePartitionMetadataValue, value)
    topics: tuple[TopicPartitionsInfo | TopicInfo, ...] = (
        *stored.initializing_topics,
        *stored.initialized_topics,
        *stored.deleting_topics,
    )
    kept = Kept(
        initializing=_partitions(stored.initializing_topics),
        initialized=_partitions(stored.initialized_topics),
        deleting=frozenset(topic.topic_id for topic in stored.deleting_topics),
        names={topic.topic_id: topic.topic_name for topic in topics},
    )
    return ShareKeptStored(group_id, kept)


SHARE_KEYS: Mapping[int, Callable[[bytes, bytes | None], ShareRecord]] = {
    MEMBER: _decode_member,
    GROUP: _decode_group,
    TARGET_EPOCH: _decode_target_epoch,
    TARGET: _decode_target,
    CURRENT: _decode_current,
    KEPT: _decode_kept,
}


def _stored_value(value: ShareMember | GroupEpoch | TargetEpoch | Partitions | ShareCurrent | Kept) -> Stored:
    match value:
        case ShareMember():
            return s.ShareGroupMemberMetadataValue(
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                subscribed_topic_names=list(value.topics),
            )
        case GroupEpoch():
            return s.ShareGroupMetadataValue(epoch=value.epoch, metadata_hash=value.metadata_hash)
        case TargetEpoch():
            return s.ShareGroupTargetAssignmentMetadataValue(
                assignment_epoch=value.epoch, assignment_timestamp=value.timestamp_ms
            )
        case frozenset():
            return s.ShareGroupTargetAssignmentMemberValue(topic_partitions=_topics(value))
        case ShareCurrent():
            return s.ShareGroupCurrentMemberAssignmentValue(
                member_epoch=value.epoch,
                previous_member_epoch=value.previous_epoch,
                assigned_partitions=_topics(value.assigned),
            )
        case Kept():
            return s.ShareGroupStatePartitionMetadataValue(
                initializing_topics=_named_topics(value.initializing, value.names),
                initialized_topics=_named_topics(value.initialized, value.names),
                deleting_topics=[
                    TopicInfo(topic_id=topic_id, topic_name=value.names[topic_id])
                    for topic_id in sorted(value.deleting)
                ],
            )
        case _:
            assert_never(value)


def _topics(partitions: Partitions) -> list[TopicPartitions]:
    return [TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in by_topic(partitions)]


def _named_topics(partitions: Partitions, names: Mapping[UUID, str]) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id=topic.topic_id, topic_name=names[topic.topic_id], partitions=topic.partitions)
        for topic in _topics(partitions)
    ]


def _partitions(topics: Iterable[TopicPartitions | TopicPartitionsInfo]) -> Partitions:
    return frozenset((topic.topic_id, number) for topic in topics for number in topic.partitions)
