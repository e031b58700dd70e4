"""DeleteTopics (20), versions 1 to 6, by name or by id."""

from millstream_controller.core.topics.deleted_topics import DeletedTopic, TopicRef, delete_topics, leaves_some
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DeleteTopicsRequest, DeleteTopicsResponse
from millstream_wire.messages.delete_topics import DeletableTopicResult
from millstream_wire.schema import ZERO_UUID

VERSION_WITH_IDS = 6


async def handle_delete_topics(
    controller: Controller, request: DeleteTopicsRequest, context: RequestContext
) -> DeleteTopicsResponse:
    if context.version >= VERSION_WITH_IDS:
        wanted = [
            TopicRef(topic.name, topic.topic_id if topic.topic_id != ZERO_UUID else None) for topic in request.topics
        ]
    else:
        wanted = [TopicRef(name, None) for name in request.topic_names]
    if request.timeout_ms <= 0 and leaves_some(wanted):
        return error_response(request, context.version, ErrorCode.REQUEST_TIMED_OUT)
    try:
        deleted = await controller.active.execute(lambda machine: delete_topics(machine, wanted))
    except NotActive:
        refused = [_result(ref.name, ref, ErrorCode.NOT_CONTROLLER, None) for ref in wanted]
        return DeleteTopicsResponse(responses=refused)
    return DeleteTopicsResponse(
        responses=[_result(topic.name, topic, topic.outcome.error, topic.outcome.message) for topic in deleted]
    )


def _result(
    name: str | None, topic: TopicRef | DeletedTopic, error: ErrorCode, message: str | None
) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=topic.topic_id or ZERO_UUID, error_code=error, error_message=message
    )
