"""Metadata (API key 3), versions 0 to 13. Topics that are missing are a broker's to create: it is told, the client asks again.

A client that has met only this node so far asks nobody else, so that sending it away without a word would leave it waiting.
"""

import logging
from collections.abc import Awaitable

from millstream_cluster.answers.metadata import any_live_broker, metadata, missing_topics
from millstream_cluster.ids import NO_NODE
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.serving.context import CloseConnection, RequestContext
from millstream_runtime.serving.told_denials import say_denied
from millstream_wire.messages import MetadataRequest, MetadataResponse
from millstream_wire.messages.metadata import MetadataRequestTopic

logger = logging.getLogger(__name__)


def handle_metadata(
    coordinator: Coordinator, request: MetadataRequest, context: RequestContext
) -> MetadataResponse | Awaitable[MetadataResponse]:
    if any_live_broker(coordinator.image) == NO_NODE:
        # librdkafka takes an answer without nodes for one and waits a minute; without an answer it asks somebody else.
        raise CloseConnection("no live broker is known")
    missing: list[str] = []
    if request.allow_auto_topic_creation:
        missing = missing_topics(coordinator.image, request, context.version, context.may_what)
    if missing:
        return _answer_after_a_broker(coordinator, request, context, missing)
    if coordinator.suspects:
        return _answer_later(coordinator, request, context)
    return _answer(coordinator, request, context)


async def _answer_later(
    coordinator: Coordinator, request: MetadataRequest, context: RequestContext
) -> MetadataResponse:
    await coordinator.suspects.settle()
    return _answer(coordinator, request, context)


async def _answer_after_a_broker(
    coordinator: Coordinator, request: MetadataRequest, context: RequestContext, missing: list[str]
) -> MetadataResponse:
    """The broker's own answer is not passed on: it names the addresses of another listener, and what a node may see."""
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in missing])
    try:
        await coordinator.ask_broker(wanted)
    except ClientError as error:
        logger.info("missing topics not passed on reason=%s", error)
    return _answer(coordinator, request, context)


def _answer(coordinator: Coordinator, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    answer = metadata(
        coordinator.image,
        request,
        context.version,
        listener_name=context.listener_name,
        may=context.may_what,
        creates=request.allow_auto_topic_creation,
    )
    say_denied(context, ((topic.name or topic.topic_id, topic.error_code) for topic in answer.topics))
    return answer
