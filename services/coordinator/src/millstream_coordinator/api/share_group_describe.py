"""ShareGroupDescribe (API key 77), version 1: share groups with their members and what each reads."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.features import SHARE_VERSION, feature_level
from millstream_cluster.image import Image
from millstream_coordinator.core.group.partitions import Partitions, by_topic
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.share.assignor import NAME
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.member_rights import finish_description
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from millstream_wire.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions


async def handle_share_group_describe(
    coordinator: Coordinator, request: ShareGroupDescribeRequest, context: RequestContext
) -> ShareGroupDescribeResponse:
    refused = refuse_some(request, context, "group_ids", AclOperation.DESCRIBE, AclResource.GROUP)
    response = ShareGroupDescribeResponse()
    for group_id in request.group_ids:
        described = await _describe(coordinator, group_id)
        assignments = (member.assignment for member in described.members)
        asks = request.include_authorized_operations
        response.groups.append(finish_description(described, context, assignments, asks_operations=asks))
    return joined(response, refused)


async def _describe(coordinator: Coordinator, group_id: str) -> DescribedGroup:
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    if not feature_level(coordinator.image.feature_levels, SHARE_VERSION):
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    image = coordinator.image
    described = await coordinator.look(group_id, lambda shard: _described(shard, group_id, image))
    if isinstance(described, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=described)
    return described


def _described(shard: GroupShard, group_id: str, image: Image) -> DescribedGroup:
    group = shard.shares.get(group_id)
    if group is None:
        what = "is not a share group" if shard.knows(group_id) else "not found"
        message = f"Group {group_id} {what}."
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=NAME,
        members=[
            Member(
                member_id=member.member_id,
                rack_id=member.rack_id,
                member_epoch=group.current(member.member_id).epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=list(member.topics),
                assignment=_assignment(group.current(member.member_id).assigned, image),
            )
            for member in group.members.values()
        ],
    )


def _assignment(partitions: Partitions, image: Image) -> Assignment:
    """By topic; those that were deleted meanwhile have no name any more."""
    topics = [
        TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=numbers)
        for topic_id, numbers in by_topic(partitions)
        if (topic := image.topic(topic_id)) is not None
    ]
    return Assignment(topic_partitions=topics)
