"""A live group goes from one protocol to the other, with its members and what they have (KIP-848's online migration).

The first member of the new protocol makes a classic group a consumer group, in which the others stay classic members. When
the last member of the new protocol is gone, the rest are a classic group again, and rebalance as one.
"""

from collections.abc import Iterator

from millstream_cluster.image import Image
from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.limits import ClassicLimits
from millstream_coordinator.core.classic.member import Member
from millstream_coordinator.core.classic.rebalance import prepare_rebalance
from millstream_coordinator.core.classic.records import ClassicRecord, GroupStored
from millstream_coordinator.core.classic.subscription import CONSUMER_PROTOCOL_TYPE
from millstream_coordinator.core.consumer.draft import ConsumerDraft
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.consumer.member import ClassicMember, CurrentAssignment, MemberMetadata
from millstream_coordinator.core.consumer.records import (
    ConsumerRecord,
    CurrentStored,
    GroupEpochStored,
    MemberStored,
    TargetEpochStored,
    TargetStored,
)
from millstream_coordinator.core.group.epochs import GroupEpoch, TargetEpoch
from millstream_coordinator.core.group.partitions import Partitions, TopicIdPartition, by_topic
from millstream_wire.codec import DecodeError, decode_embedded, encode_stored
from millstream_wire.stored import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from millstream_wire.stored.consumer_protocol import TopicPartition


def can_upgrade(group: ClassicGroup, limits: ConsumerLimits) -> bool:
    """Whether the group's members could be classic members of a consumer group, with one more."""
    return (
        limits.migration.upgrades
        and group.protocol_type == CONSUMER_PROTOCOL_TYPE
        and len(group.members) < limits.size_max
        and all(subscription_of(member.protocols[0].metadata) is not None for member in group.members.values())
    )


def upgrade(group: ClassicGroup, image: Image) -> Iterator[ConsumerRecord]:
    """The consumer group that the classic one is from now on: everyone has what they had."""
    group_id, epoch = group.group_id, group.generation
    yield GroupEpochStored(group_id, GroupEpoch(epoch))
    yield TargetEpochStored(group_id, TargetEpoch(epoch))
    taken: set[TopicIdPartition] = set()
    for member in group.members.values():
        has = _held(group, member, image) - taken
        taken |= has
        yield MemberStored(group_id, member.member_id, _metadata(member))
        yield TargetStored(group_id, member.member_id, has)
        current = CurrentAssignment(epoch=epoch, previous_epoch=epoch, assigned=dict.fromkeys(has, epoch))
        yield CurrentStored(group_id, member.member_id, current)


def must_downgrade(group: ConsumerGroup, limits: ConsumerLimits) -> bool:
    """Whether only classic members are left."""
    everyone = group.members.values()
    return limits.migration.downgrades and bool(everyone) and all(member.classic is not None for member in everyone)


def downgrade(
    draft: ConsumerDraft, image: Image, limits: ClassicLimits, now_ms: int
) -> tuple[tuple[ClassicRecord | ConsumerRecord, ...], ClassicGroup]:
    """The records that end the consumer group, and the classic group in its place, about to rebalance."""
    consumers = draft.group
    group = ClassicGroup(consumers.group_id, limits, now_ms)
    group.protocol_type = CONSUMER_PROTOCOL_TYPE
    # Members of the latest epoch can still commit before they join again: to them it is the generation.
    group.generation = max(consumers.current(member_id).epoch for member_id in consumers.members)
    for member_id, member in consumers.members.items():
        classic = member.classic
        assert classic is not None
        group.add_member(
            Member(
                member_id=member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=classic.session_timeout_ms,
                protocols=classic.protocols,
                assignment=encode_assignment(frozenset(consumers.current(member_id).assigned), classic, image),
            )
        )
        group.hear_from(group.members[member_id], now_ms)
    group.transition(GroupState.STABLE, now_ms)
    group.protocol = group.select_protocol()
    records = (*draft.records, *consumers.tombstones(), GroupStored(group.stored()))
    prepare_rebalance(group, now_ms)
    return records, group


def subscription_of(metadata: bytes) -> ConsumerProtocolSubscription | None:
    try:
        return decode_embedded(ConsumerProtocolSubscription, metadata)
    except DecodeError:
        return None


def partitions_of(listed: list[TopicPartition], image: Image) -> Partitions:
    """Those that exist, by topic id."""
    return frozenset(
        (topic.topic_id, number)
        for each in listed
        if (topic := image.topic(each.topic)) is not None
        for number in each.partitions
        if 0 <= number < len(topic.partitions)
    )


def encode_assignment(partitions: Partitions, classic: ClassicMember, image: Image) -> bytes:
    """As the member's leader would have written it, in the version of its subscription."""
    listed = [
        TopicPartition(topic=topic.name, partitions=numbers)
        for topic_id, numbers in by_topic(partitions)
        if (topic := image.topic(topic_id)) is not None
    ]
    version = int.from_bytes(classic.protocols[0].metadata[:2], "big")
    most = ConsumerProtocolAssignment.versions[1]
    return encode_stored(ConsumerProtocolAssignment(assigned_partitions=listed), min(version, most))


def _metadata(member: Member) -> MemberMetadata:
    subscription = subscription_of(member.protocols[0].metadata)
    assert subscription is not None
    return MemberMetadata(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMember(member.session_timeout_ms, member.protocols),
    )


def _held(group: ClassicGroup, member: Member, image: Image) -> Partitions:
    """What it was assigned; once it joined again, what it said that it kept."""
    has_joined = member.join_ticket is not None or group.state is GroupState.COMPLETING_REBALANCE
    try:
        if member.assignment and not has_joined:
            assignment = decode_embedded(ConsumerProtocolAssignment, member.assignment)
            return partitions_of(assignment.assigned_partitions, image)
    except DecodeError:
        return frozenset()
    subscription = subscription_of(member.protocols[0].metadata)
    return frozenset() if subscription is None else partitions_of(subscription.owned_partitions, image)
