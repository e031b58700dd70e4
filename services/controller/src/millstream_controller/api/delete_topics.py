"""DeleteTopics (20), versions 1 to 6, by name or by id."""

from collections import Counter

from millstream_cluster.acls import CLUSTER_NAME, AclOperation, AclResource, May
from millstream_cluster.image import Image
from millstream_controller.core.topics.deleted_topics import DeletedTopic, TopicRef, delete_topics, leaves_some
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_controller.shell.mutations import told
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DeleteTopicsRequest, DeleteTopicsResponse
from millstream_wire.messages.delete_topics import DeletableTopicResult
from millstream_wire.schema import ZERO_UUID

VERSION_WITH_IDS = 6
STRICT_SINCE = 5


async def handle_delete_topics(
    controller: Controller, request: DeleteTopicsRequest, context: RequestContext
) -> DeleteTopicsResponse:
    if context.version >= VERSION_WITH_IDS:
        wanted = [
            TopicRef(topic.name, topic.topic_id if topic.topic_id != ZERO_UUID else None) for topic in request.topics
        ]
    else:
        wanted = [TopicRef(name, None) for name in request.topic_names]
    denied: list[DeletableTopicResult] = []
    try:
        active, may = controller.active, context.may_what
        if may is not None:
            wanted, denied = _denied(active.log.image, wanted, may)
        for each in denied:
            context.denied(AclOperation.DELETE, AclResource.TOPIC, each.name or str(each.topic_id))
        if request.timeout_ms <= 0 and leaves_some(wanted):
            late = [_result(ref.name, ref, ErrorCode.REQUEST_TIMED_OUT, None) for ref in wanted]
            return DeleteTopicsResponse(responses=[*late, *denied])
        allowance = controller.mutations.allowance(active.machine.image, context, strict_since=STRICT_SINCE)
        deleted = await active.execute(lambda machine: delete_topics(machine, wanted, allowance))
    except NotActive:
        refused = [_result(ref.name, ref, ErrorCode.NOT_CONTROLLER, None) for ref in wanted]
        return DeleteTopicsResponse(responses=[*refused, *denied])
    done = [_result(topic.name, topic, topic.outcome.error, topic.outcome.message) for topic in deleted]
    return told(DeleteTopicsResponse(responses=[*done, *denied]), allowance, context)


def _denied(image: Image, wanted: list[TopicRef], may: May) -> tuple[list[TopicRef], list[DeletableTopicResult]]:
    """What is left, and the answers to the others, which say no more of a topic than may be described.

    What is named twice is refused for that, whoever asks; and an id of no topic is no secret.
    """
    if may(AclOperation.DELETE, AclResource.CLUSTER, CLUSTER_NAME):
        return wanted, []  # granted by All on the cluster alone
    named = Counter(wanted)
    left, denied = [], []
    for ref in wanted:
        topic = image.topic(ref.topic_id if ref.name is None and ref.topic_id is not None else ref.name or "")
        name = ref.name if topic is None else topic.name
        is_plain = named[ref] == 1 and (ref.name is None) != (ref.topic_id is None)
        if not is_plain or name is None:
            left.append(ref)
            continue
        is_shown = may(AclOperation.DESCRIBE, AclResource.TOPIC, name)
        if is_shown and (topic is None or may(AclOperation.DELETE, AclResource.TOPIC, name)):
            left.append(ref)
            continue
        told = name if is_shown else ref.name  # the other one of id and name only where it was asked by id
        denied.append(_result(told, ref, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None))
    return left, denied


def _result(
    name: str | None, topic: TopicRef | DeletedTopic, error: ErrorCode, message: str | None
) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name, topic_id=topic.topic_id or ZERO_UUID, error_code=error, error_message=message
    )
