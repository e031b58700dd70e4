"""AlterShareGroupOffsets (API key 91), version 0: sets where an empty share group reads on; what was stored of its records begins anew."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.features import SHARE_VERSION, feature_level
from millstream_coordinator.core.commands.share_partitions import StateChange
from millstream_coordinator.core.group.partitions import TopicIdPartition
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse
from millstream_wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from millstream_wire.schema import ZERO_UUID

NO_SUCH_PARTITION = "This server does not host this topic-partition."


async def handle_alter_share_group_offsets(
    coordinator: Coordinator, request: AlterShareGroupOffsetsRequest, context: RequestContext
) -> AlterShareGroupOffsetsResponse:
    if not feature_level(coordinator.image.feature_levels, SHARE_VERSION):
        message = f"{SHARE_VERSION} is 0: this cluster serves no share groups."
        return AlterShareGroupOffsetsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=message)
    denied = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    if not request.group_id:
        return AlterShareGroupOffsetsResponse(
            error_code=ErrorCode.INVALID_GROUP_ID, error_message="The group id is invalid."
        )
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return AlterShareGroupOffsetsResponse(error_code=groups)
    image = coordinator.image
    unread = {
        asked.topic_name
        for asked in request.topics
        if not context.may(AclOperation.READ, AclResource.TOPIC, asked.topic_name)
    }
    for name in unread:
        context.denied(AclOperation.READ, AclResource.TOPIC, name)
    ids = {
        asked.topic_name: image.topic(asked.topic_name) if asked.topic_name not in unread else None
        for asked in request.topics
    }
    names = {topic.topic_id: topic.name for topic in ids.values() if topic is not None}
    start_offsets: dict[TopicIdPartition, int] = {
        (topic.topic_id, each.partition_index): each.start_offset
        for asked in request.topics
        if (topic := ids[asked.topic_name]) is not None
        for each in asked.partitions
        if image.partition(topic.topic_id, each.partition_index) is not None
    }
    altered = await coordinator.committed(groups.shares.alter(request.group_id, start_offsets, names))
    if isinstance(altered, ErrorCode):
        return AlterShareGroupOffsetsResponse(error_code=altered)
    if isinstance(altered, StateChange):
        return AlterShareGroupOffsetsResponse(error_code=altered.error, error_message=altered.message)
    response = AlterShareGroupOffsetsResponse()
    for asked in request.topics:
        topic = ids[asked.topic_name]
        topic_id = topic.topic_id if topic is not None else ZERO_UUID
        is_unread = asked.topic_name in unread
        missing = ErrorCode.TOPIC_AUTHORIZATION_FAILED if is_unread else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partitions = [
            _partition(each.partition_index, altered.get((topic_id, each.partition_index), missing))
            for each in asked.partitions
        ]
        response.responses.append(
            AlterShareGroupOffsetsResponseTopic(topic_name=asked.topic_name, topic_id=topic_id, partitions=partitions)
        )
    return response


def _partition(number: int, error: ErrorCode) -> AlterShareGroupOffsetsResponsePartition:
    message = None
    if error:
        is_missing = error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        message = NO_SUCH_PARTITION if is_missing else f"Partition {number}: {error.name}."
    return AlterShareGroupOffsetsResponsePartition(partition_index=number, error_code=error, error_message=message)
