"""CreateTopics (19), DeleteTopics (20), CreatePartitions (37), in every version: the controller's, answered once seen here.

What a client does next at this broker meets what it was told: a topic that was answered as created exists, each of its
partitions that belong here can be written to, and one that was deleted is gone.
"""

import logging
from collections.abc import Awaitable
from typing import TypeVar

from millstream_broker.api.forwarded import handle_forwarded
from millstream_broker.shell.broker import Broker
from millstream_runtime.nodes.answers import decoded_answer
from millstream_runtime.serving.context import RawReply, RequestContext
from millstream_wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from millstream_wire.schema import Response

logger = logging.getLogger(__name__)

TopicRequest = CreateTopicsRequest | DeleteTopicsRequest | CreatePartitionsRequest


R = TypeVar("R", bound=Response)


async def handle_create_topics(
    broker: Broker, request: CreateTopicsRequest, context: RequestContext
) -> RawReply | CreateTopicsResponse:
    return await _once_seen(broker, request, context, handle_forwarded(broker, request, context))


async def handle_delete_topics(
    broker: Broker, request: DeleteTopicsRequest, context: RequestContext
) -> RawReply | DeleteTopicsResponse:
    return await _once_seen(broker, request, context, handle_forwarded(broker, request, context))


async def handle_create_partitions(
    broker: Broker, request: CreatePartitionsRequest, context: RequestContext
) -> RawReply | CreatePartitionsResponse:
    return await _once_seen(broker, request, context, handle_forwarded(broker, request, context))


async def _once_seen(
    broker: Broker, request: TopicRequest, context: RequestContext, forwarded: Awaitable[RawReply | R]
) -> RawReply | R:
    with broker.topic_changes.begun(request) as changes:
        reply = await forwarded
        if isinstance(reply, RawReply):  # else nobody could be asked
            [answer] = reply.parts
            assert isinstance(answer, bytes), "an answer that was forwarded is in memory"
            changes.on_answer(request, decoded_answer(context.api_key, context.version, answer))
        left_ms = context.received_at_ms + request.timeout_ms - broker.world.monotonic_ms()
        if not await broker.topic_changes.seen(changes, left_ms):
            logger.warning("topics answered before they are seen here api=%s", context.api_key.name)
        return reply
