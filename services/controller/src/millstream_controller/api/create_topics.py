"""CreateTopics (19), versions 2 to 7."""

from collections import Counter

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.configs import ConfigEntry
from millstream_controller.core.topics.new_topics import CreatedTopic, NewTopic, create_topics, leaves_some
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_controller.shell.mutations import told
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_where
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateTopicsRequest, CreateTopicsResponse
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfigs, CreatableTopicResult

STRICT_SINCE = 6


async def handle_create_topics(
    controller: Controller, request: CreateTopicsRequest, context: RequestContext
) -> CreateTopicsResponse:
    denied = None
    try:
        denied = _denied(request, context)
        shown = {topic.name for topic in request.topics if _may_see(context, topic.name)}
        wanted = [_new_topic(topic) for topic in request.topics]
        if request.timeout_ms <= 0 and leaves_some(wanted):
            return joined(error_response(request, context.version, ErrorCode.REQUEST_TIMED_OUT), denied)
        active = controller.active
        allowance = controller.mutations.allowance(active.machine.image, context, strict_since=STRICT_SINCE)
        created = await active.execute(
            lambda machine: create_topics(
                machine,
                wanted,
                validate_only=request.validate_only,
                new_id=controller.new_id,
                allowance=allowance,
            )
        )
    except NotActive:
        refused = [
            CreatableTopicResult(name=topic.name, error_code=ErrorCode.NOT_CONTROLLER) for topic in request.topics
        ]
        return joined(CreateTopicsResponse(topics=refused), denied)
    answer = CreateTopicsResponse(topics=[_result(topic, shown=topic.name in shown) for topic in created])
    return joined(told(answer, allowance, context), denied)


def _denied(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse | None:
    """A topic that is named twice is refused for that, whoever asks."""
    may_create_any = context.may(AclOperation.CREATE, AclResource.CLUSTER)
    named = Counter(topic.name for topic in request.topics)

    def is_permitted(topic: CreatableTopic) -> bool:
        may_create = may_create_any or context.may(AclOperation.CREATE, AclResource.TOPIC, topic.name)
        return may_create or named[topic.name] > 1

    denied = refuse_where(request, context, "topics", is_permitted, AclOperation.CREATE)
    for result in denied.topics if denied is not None else ():
        result.error_message = "Authorization failed."
    return denied


def _may_see(context: RequestContext, topic: str) -> bool:
    """What a topic was created with is its configuration, which not everybody who creates it may see."""
    return context.may(AclOperation.DESCRIBE_CONFIGS, AclResource.TOPIC, topic)


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((each.partition_index, tuple(each.broker_ids)) for each in topic.assignments),
        tuple((config.name, config.value) for config in topic.configs),
    )


def _result(topic: CreatedTopic, *, shown: bool) -> CreatableTopicResult:
    result = CreatableTopicResult(
        name=topic.name,
        error_code=topic.outcome.error,
        error_message=topic.outcome.message,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
    )
    if topic.outcome.error is ErrorCode.NONE and not shown:
        result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        result.num_partitions = result.replication_factor = -1
    elif topic.configs is not None:
        result.configs = [_config(entry) for _, entry in sorted(topic.configs.items())]
    if topic.topic_id is not None:
        result.topic_id = topic.topic_id
    return result


def _config(entry: ConfigEntry) -> CreatableTopicConfigs:
    return CreatableTopicConfigs(
        name=entry.key.name,
        value=None if entry.key.sensitive else entry.text,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.key.sensitive,
    )
