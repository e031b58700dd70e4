"""DeleteShareGroupOffsets (API key 92), version 0: an empty share group forgets topics; in one that it reads again it begins anew."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.features import SHARE_VERSION, feature_level
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse
from millstream_wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponseTopic

NO_SUCH_TOPIC = "This server does not host this topic-partition."
NOTHING_OF_TOPIC = "There is no offset information to delete."


async def handle_delete_share_group_offsets(
    coordinator: Coordinator, request: DeleteShareGroupOffsetsRequest, context: RequestContext
) -> DeleteShareGroupOffsetsResponse:
    if not feature_level(coordinator.image.feature_levels, SHARE_VERSION):
        message = f"{SHARE_VERSION} is 0: this cluster serves no share groups."
        return DeleteShareGroupOffsetsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=message)
    denied = refuse_all(request, context, AclOperation.DELETE, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    if not request.group_id:
        return DeleteShareGroupOffsetsResponse(
            error_code=ErrorCode.INVALID_GROUP_ID, error_message="The group id is invalid."
        )
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return DeleteShareGroupOffsetsResponse(error_code=groups)
    refused = [
        each for each in request.topics if not context.may(AclOperation.READ, AclResource.TOPIC, each.topic_name)
    ]
    for each in refused:
        context.denied(AclOperation.READ, AclResource.TOPIC, each.topic_name)
    if refused:
        request.topics = [each for each in request.topics if each not in refused]
    topics = [coordinator.image.topic(asked.topic_name) for asked in request.topics]
    known = frozenset(topic.topic_id for topic in topics if topic is not None)
    deleted = await coordinator.committed(groups.shares.delete_state(request.group_id, known))
    if isinstance(deleted, ErrorCode):
        return DeleteShareGroupOffsetsResponse(error_code=deleted)
    if deleted.error:
        return DeleteShareGroupOffsetsResponse(error_code=deleted.error, error_message=deleted.message)
    response = DeleteShareGroupOffsetsResponse()
    for asked, topic in zip(request.topics, topics, strict=True):
        result = DeleteShareGroupOffsetsResponseTopic(topic_name=asked.topic_name)
        if topic is None or topic.topic_id not in deleted.topics:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            result.error_message = NO_SUCH_TOPIC if topic is None else NOTHING_OF_TOPIC
        else:
            result.topic_id = topic.topic_id
        response.responses.append(result)
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response.responses += [
        DeleteShareGroupOffsetsResponseTopic(topic_name=each.topic_name, error_code=code) for each in refused
    ]
    return response
