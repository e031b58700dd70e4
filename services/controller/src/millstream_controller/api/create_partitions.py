"""CreatePartitions (37), versions 0 to 3."""

from collections import Counter

from millstream_cluster.acls import AclOperation, AclResource
from millstream_controller.core.partitions.new_partitions import Growth, create_partitions, leaves_some
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_controller.shell.mutations import told
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_where
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreatePartitionsRequest, CreatePartitionsResponse
from millstream_wire.messages.create_partitions import CreatePartitionsTopic, CreatePartitionsTopicResult

STRICT_SINCE = 3


async def handle_create_partitions(
    controller: Controller, request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse:
    denied = None
    try:
        denied = _denied(request, context)
        wanted = [_growth(topic) for topic in request.topics]
        if request.timeout_ms <= 0 and leaves_some(wanted):
            return joined(error_response(request, context.version, ErrorCode.REQUEST_TIMED_OUT), denied)
        active = controller.active
        allowance = controller.mutations.allowance(active.machine.image, context, strict_since=STRICT_SINCE)
        answers = await active.execute(
            lambda machine: create_partitions(machine, wanted, validate_only=request.validate_only, allowance=allowance)
        )
    except NotActive:
        refused = [
            CreatePartitionsTopicResult(name=topic.name, error_code=ErrorCode.NOT_CONTROLLER)
            for topic in request.topics
        ]
        return joined(CreatePartitionsResponse(results=refused), denied)
    answer = CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=name, error_code=outcome.error, error_message=outcome.message)
            for name, outcome in answers
        ]
    )
    return joined(told(answer, allowance, context), denied)


def _denied(request: CreatePartitionsRequest, context: RequestContext) -> CreatePartitionsResponse | None:
    """A topic that is named twice is refused for that, whoever asks."""
    named = Counter(topic.name for topic in request.topics)

    def is_permitted(topic: CreatePartitionsTopic) -> bool:
        return named[topic.name] > 1 or context.may(AclOperation.ALTER, AclResource.TOPIC, topic.name)

    return refuse_where(request, context, "topics", is_permitted, AclOperation.ALTER)


def _growth(topic: CreatePartitionsTopic) -> Growth:
    assignments = None
    if topic.assignments is not None:
        assignments = tuple(tuple(each.broker_ids) for each in topic.assignments)
    return Growth(topic.name, topic.count, assignments)
