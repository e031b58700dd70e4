"""OffsetDelete (API key 47), version 0."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.commands.offsets import delete_offsets
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import OffsetDeleteRequest, OffsetDeleteResponse
from millstream_wire.messages.offset_delete import OffsetDeleteResponsePartition, OffsetDeleteResponseTopic


async def handle_offset_delete(
    coordinator: Coordinator, request: OffsetDeleteRequest, context: RequestContext
) -> OffsetDeleteResponse:
    denied = refuse_all(request, context, AclOperation.DELETE, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    groups = coordinator.groups_of(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID
    if isinstance(groups, ErrorCode):
        return OffsetDeleteResponse(error_code=groups)
    image = coordinator.image
    asked = [(topic.name, each.partition_index) for topic in request.topics for each in topic.partitions]
    unread = {
        topic.name for topic in request.topics if not context.may(AclOperation.READ, AclResource.TOPIC, topic.name)
    }
    for name in unread:
        context.denied(AclOperation.READ, AclResource.TOPIC, name)
    known = [partition for partition in asked if partition[0] not in unread and image.partition(*partition) is not None]
    outcome = await coordinator.committed(
        groups.execute(lambda shard, now_ms: delete_offsets(shard, request.group_id, known, now_ms))
    )
    if isinstance(outcome, ErrorCode):
        return OffsetDeleteResponse(error_code=outcome)
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=each.partition_index,
                        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
                        if topic.name in unread
                        else outcome.get((topic.name, each.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
