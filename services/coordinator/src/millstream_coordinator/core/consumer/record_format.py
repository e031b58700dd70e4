"""A consumer group's records in the bytes of `__consumer_offsets`, as Kafka writes them. A record without value is a tombstone."""

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from millstream_coordinator.core.consumer.member import ClassicMember, CurrentAssignment, MemberMetadata, MemberState
from millstream_coordinator.core.consumer.records import (
    ConsumerRecord,
    CurrentStored,
    GroupEpochStored,
    MemberStored,
    RegexStored,
    ResolvedRegex,
    TargetEpochStored,
    TargetStored,
)
from millstream_coordinator.core.group.epochs import GroupEpoch, TargetEpoch
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group.partitions import Partitions, TopicIdPartition, by_topic
from millstream_wire.codec import DecodeError, decode_stored, encode_stored
from millstream_wire.schema import Stored
from millstream_wire.stored import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from millstream_wire.stored.consumer_group import (
    ClassicMemberMetadata,
    ClassicProtocol,
    TopicPartition,
    TopicPartitions,
)

GROUP, MEMBER, TARGET_EPOCH, TARGET, CURRENT, REGEX = 3, 5, 6, 7, 8, 16
"""The kinds of keys."""
VALUE_VERSION = 0


def encode_consumer_record(record: ConsumerRecord) -> tuple[bytes, bytes | None]:
    value = record.value
    encoded = None if value is None else encode_stored(_stored_value(value), VALUE_VERSION)
    match record:
        case GroupEpochStored():
            return encode_stored(ConsumerGroupMetadataKey(group_id=record.group_id), GROUP), encoded
        case TargetEpochStored():
            key = ConsumerGroupTargetAssignmentMetadataKey(group_id=record.group_id)
            return encode_stored(key, TARGET_EPOCH), encoded
        case MemberStored():
            member_key = ConsumerGroupMemberMetadataKey(group_id=record.group_id, member_id=record.member_id)
            return encode_stored(member_key, MEMBER), encoded
        case TargetStored():
            target_key = ConsumerGroupTargetAssignmentMemberKey(group_id=record.group_id, member_id=record.member_id)
            return encode_stored(target_key, TARGET), encoded
        case CurrentStored():
            current_key = ConsumerGroupCurrentMemberAssignmentKey(group_id=record.group_id, member_id=record.member_id)
            return encode_stored(current_key, CURRENT), encoded
        case RegexStored():
            regex_key = ConsumerGroupRegularExpressionKey(group_id=record.group_id, regular_expression=record.regex)
            return encode_stored(regex_key, REGEX), encoded
        case _:
            assert_never(record)


def _decode_group(key: bytes, value: bytes | None) -> ConsumerRecord:
    group_id = decode_stored(ConsumerGroupMetadataKey, key).group_id
    if value is None:
        return GroupEpochStored(group_id, None)
    stored = decode_stored(ConsumerGroupMetadataValue, value)
    return GroupEpochStored(group_id, GroupEpoch(stored.epoch, stored.metadata_hash))


def _decode_target_epoch(key: bytes, value: bytes | None) -> ConsumerRecord:
    group_id = decode_stored(ConsumerGroupTargetAssignmentMetadataKey, key).group_id
    if value is None:
        return TargetEpochStored(group_id, None)
    stored = decode_stored(ConsumerGroupTargetAssignmentMetadataValue, value)
    return TargetEpochStored(group_id, TargetEpoch(stored.assignment_epoch, stored.assignment_timestamp))


def _decode_member(key: bytes, value: bytes | None) -> ConsumerRecord:
    named = decode_stored(ConsumerGroupMemberMetadataKey, key)
    if value is None:
        return MemberStored(named.group_id, named.member_id, None)
    stored = decode_stored(ConsumerGroupMemberMetadataValue, value)
    member = MemberMetadata(
        member_id=named.member_id,
        instance_id=stored.instance_id,
        rack_id=stored.rack_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        topics=tuple(stored.subscribed_topic_names),
        regex=stored.subscribed_topic_regex,
        rebalance_timeout_ms=stored.rebalance_timeout_ms,
        server_assignor=stored.server_assignor,
        classic=_classic_member(stored.classic_member_metadata),
    )
    return MemberStored(named.group_id, named.member_id, member)


def _decode_target(key: bytes, value: bytes | None) -> ConsumerRecord:
    named = decode_stored(ConsumerGroupTargetAssignmentMemberKey, key)
    if value is None:
        return TargetStored(named.group_id, named.member_id, None)
    stored = decode_stored(ConsumerGroupTargetAssignmentMemberValue, value)
    target = frozenset(
        (topic.topic_id, partition) for topic in stored.topic_partitions for partition in topic.partitions
    )
    return TargetStored(named.group_id, named.member_id, target)


def _decode_current(key: bytes, value: bytes | None) -> ConsumerRecord:
    named = decode_stored(ConsumerGroupCurrentMemberAssignmentKey, key)
    if value is None:
        return CurrentStored(named.group_id, named.member_id, None)
    stored = decode_stored(ConsumerGroupCurrentMemberAssignmentValue, value)
    try:
        state = MemberState(stored.state)
    except ValueError:
        raise DecodeError(f"no such member state: {stored.state}") from None
    current = CurrentAssignment(
        epoch=stored.member_epoch,
        previous_epoch=stored.previous_member_epoch,
        state=state,
        assigned=_with_epochs(stored.assigned_partitions, stored.member_epoch),
        revoking=_with_epochs(stored.partitions_pending_revocation, stored.member_epoch),
    )
    return CurrentStored(named.group_id, named.member_id, current)


def _decode_regex(key: bytes, value: bytes | None) -> ConsumerRecord:
    named = decode_stored(ConsumerGroupRegularExpressionKey, key)
    if value is None:
        return RegexStored(named.group_id, named.regular_expression, None)
    stored = decode_stored(ConsumerGroupRegularExpressionValue, value)
    resolved = ResolvedRegex(tuple(stored.topics), stored.version, stored.timestamp)
    return RegexStored(named.group_id, named.regular_expression, resolved)


CONSUMER_KEYS: Mapping[int, Callable[[bytes, bytes | None], ConsumerRecord]] = {
    GROUP: _decode_group,
    MEMBER: _decode_member,
    TARGET_EPOCH: _decode_target_epoch,
    TARGET: _decode_target,
    CURRENT: _decode_current,
    REGEX: _decode_regex,
}


def _stored_value(
    value: GroupEpoch | TargetEpoch | MemberMetadata | Partitions | CurrentAssignment | ResolvedRegex,
) -> Stored:
    match value:
        case GroupEpoch():
            return ConsumerGroupMetadataValue(epoch=value.epoch, metadata_hash=value.metadata_hash)
        case TargetEpoch():
            return ConsumerGroupTargetAssignmentMetadataValue(
                assignment_epoch=value.epoch, assignment_timestamp=value.timestamp_ms
            )
        case MemberMetadata():
            return ConsumerGroupMemberMetadataValue(
                instance_id=value.instance_id,
                rack_id=value.rack_id,
                client_id=value.client_id,
                client_host=value.client_host,
                subscribed_topic_names=list(value.topics),
                subscribed_topic_regex=value.regex,
                rebalance_timeout_ms=value.rebalance_timeout_ms,
                server_assignor=value.server_assignor,
                classic_member_metadata=_classic_metadata(value.classic),
            )
        case frozenset():
            return ConsumerGroupTargetAssignmentMemberValue(
                topic_partitions=[
                    TopicPartition(topic_id=topic_id, partitions=numbers) for topic_id, numbers in by_topic(value)
                ]
            )
        case CurrentAssignment():
            return ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=value.epoch,
                previous_member_epoch=value.previous_epoch,
                state=value.state,
                assigned_partitions=_topic_partitions(value.assigned),
                partitions_pending_revocation=_topic_partitions(value.revoking),
            )
        case ResolvedRegex():
            return ConsumerGroupRegularExpressionValue(
                topics=list(value.topics), version=value.metadata_offset, timestamp=value.timestamp_ms
            )
        case _:
            assert_never(value)


def _classic_metadata(classic: ClassicMember | None) -> ClassicMemberMetadata | None:
    if classic is None:
        return None
    offered = [ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in classic.protocols]
    return ClassicMemberMetadata(session_timeout_ms=classic.session_timeout_ms, supported_protocols=offered)


def _classic_member(stored: ClassicMemberMetadata | None) -> ClassicMember | None:
    """None where it is absent too: a classic member offers one protocol at least."""
    if stored is None or not stored.supported_protocols:
        return None
    protocols = tuple(MemberProtocol(each.name, bytes(each.metadata)) for each in stored.supported_protocols)
    return ClassicMember(stored.session_timeout_ms, protocols)


def _topic_partitions(partitions: Mapping[TopicIdPartition, int]) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic_id,
            partitions=numbers,
            assignment_epochs=[partitions[topic_id, number] for number in numbers],
        )
        for topic_id, numbers in by_topic(partitions)
    ]


def _with_epochs(stored: Iterable[TopicPartitions], member_epoch: int) -> dict[TopicIdPartition, int]:
    """Older records do not say since when: since the member's epoch, to be sure."""
    found = {}
    for topic in stored:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [member_epoch] * len(topic.partitions)
        found.update({(topic.topic_id, number): epoch for number, epoch in zip(topic.partitions, epochs, strict=True)})
    return found
