"""Metadata (API key 3), versions 0 to 13. Topics that are missing are created where that is allowed; the client asks again."""

from collections.abc import Awaitable

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.metadata import metadata, missing_topics
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.told_denials import say_denied
from millstream_wire.messages import MetadataRequest, MetadataResponse


def handle_metadata(
    broker: Broker, request: MetadataRequest, context: RequestContext
) -> MetadataResponse | Awaitable[MetadataResponse]:
    if broker.sees_cluster and not broker.suspects:
        return _answer(broker, request, context)
    return _answer_later(broker, request, context)


async def _answer_later(broker: Broker, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    await broker.until_it_sees_cluster()
    await broker.suspects.settle()
    return _answer(broker, request, context)


def _answer(broker: Broker, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    image = broker.image
    may = context.may_what
    creates = request.allow_auto_topic_creation and broker.config.auto_create_topics
    if creates:
        for name in missing_topics(image, request, context.version, may):
            broker.topic_creation.want(name, asked_by=context)
    answer = metadata(image, request, context.version, listener_name=context.listener_name, may=may, creates=creates)
    say_denied(context, ((topic.name or topic.topic_id, topic.error_code) for topic in answer.topics))
    return answer
