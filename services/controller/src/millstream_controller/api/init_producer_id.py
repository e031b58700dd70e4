"""InitProducerId (22), versions 0 to 5, as a shard's claim: transactional id `__consumer_offsets-7` claims partition 7.

Clients' own producer ids are the brokers' business. Only coordinators claim.
"""

import logging

from millstream_cluster.ids import COORDINATOR_TOPICS, Role
from millstream_controller.core.shards import claim
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.peer import NodePeer
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import InitProducerIdRequest, InitProducerIdResponse

logger = logging.getLogger(__name__)


async def handle_init_producer_id(
    controller: Controller, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    topic, _, number = (request.transactional_id or "").rpartition("-")
    if topic not in COORDINATOR_TOPICS or not (number.isascii() and number.isdigit()):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    partition = int(number)
    peer = context.peer
    if not isinstance(peer, NodePeer) or peer.role is not Role.COORDINATOR:
        return error_response(request, context.version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    claimant = peer.node_id
    try:
        claimed = await controller.active.execute(lambda machine: claim(machine, topic, partition, claimant))
    except NotActive:
        return InitProducerIdResponse(error_code=ErrorCode.NOT_CONTROLLER, producer_epoch=-1)
    if claimed.outcome.error is ErrorCode.NONE:
        logger.info("shard claimed topic=%s partition=%d epoch=%d", topic, partition, claimed.producer_epoch)
    return InitProducerIdResponse(
        error_code=claimed.outcome.error, producer_id=claimed.producer_id, producer_epoch=claimed.producer_epoch
    )
