"""ConsumerGroupDescribe (API key 69), versions 0 and 1: consumer groups with their members' current and target assignments.

A group of the classic protocol is not found here; tools then ask DescribeGroups.
"""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.features import GROUP_VERSION, feature_level
from millstream_cluster.image import Image
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.member import MemberMetadata
from millstream_coordinator.core.group.assignors import DEFAULT_ASSIGNOR
from millstream_coordinator.core.group.partitions import Partitions, by_topic
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.member_rights import finish_description
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from millstream_wire.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1
"""Member types: in a group that is being migrated some members speak the classic protocol."""


async def handle_consumer_group_describe(
    coordinator: Coordinator, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponse:
    refused = refuse_some(request, context, "group_ids", AclOperation.DESCRIBE, AclResource.GROUP)
    response = ConsumerGroupDescribeResponse()
    for group_id in request.group_ids:
        described = await _describe(coordinator, group_id)
        assignments = (each for member in described.members for each in (member.assignment, member.target_assignment))
        asks = request.include_authorized_operations
        response.groups.append(finish_description(described, context, assignments, asks_operations=asks))
    return joined(response, refused)


async def _describe(coordinator: Coordinator, group_id: str) -> DescribedGroup:
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    if not feature_level(coordinator.image.feature_levels, GROUP_VERSION):
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    image = coordinator.image
    described = await coordinator.look(group_id, lambda shard: _described(shard, group_id, image))
    if isinstance(described, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=described)
    return described


def _described(shard: GroupShard, group_id: str, image: Image) -> DescribedGroup:
    group = shard.consumers.get(group_id)
    if group is None:
        message = (
            f"Group {group_id} is not a consumer group." if shard.knows(group_id) else f"Group {group_id} not found."
        )
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor(DEFAULT_ASSIGNOR),
        members=[_member(group, member, image) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: MemberMetadata, image: Image) -> Member:
    current = group.current(member.member_id)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=current.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex or "",
        assignment=_assignment(frozenset(current.assigned), image),
        target_assignment=_assignment(group.target(member.member_id), image),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(partitions: Partitions, image: Image) -> Assignment:
    """By topic; those that were deleted meanwhile have no name any more."""
    topics = [
        TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=numbers)
        for topic_id, numbers in by_topic(partitions)
        if (topic := image.topic(topic_id)) is not None
    ]
    return Assignment(topic_partitions=topics)
