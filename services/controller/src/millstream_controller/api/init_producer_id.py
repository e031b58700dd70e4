"""InitProducerId (22), versions 0 to 5, as a shard's claim: transactional id `__consumer_offsets-7` claims partition 7.

Clients' own producer ids are the brokers' business. A claimant says who it is by its client id, `coordinator-10001`.
"""

import logging

from millstream_cluster.ids import COORDINATOR_ID_BASE, COORDINATOR_TOPICS
from millstream_controller.core.shards import claim
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import InitProducerIdRequest, InitProducerIdResponse

logger = logging.getLogger(__name__)

CLIENT_ID_PREFIX = "coordinator-"


async def handle_init_producer_id(
    controller: Controller, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    topic, _, number = (request.transactional_id or "").rpartition("-")
    if topic not in COORDINATOR_TOPICS or not (number.isascii() and number.isdigit()):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    partition = int(number)
    claimant = claimant_of(context.client_id)
    try:
        claimed = await controller.active.execute(lambda machine: claim(machine, topic, partition, claimant))
    except NotActive:
        return InitProducerIdResponse(error_code=ErrorCode.NOT_CONTROLLER, producer_epoch=-1)
    if claimed.outcome.error is ErrorCode.NONE:
        logger.info("shard claimed topic=%s partition=%d epoch=%d", topic, partition, claimed.producer_epoch)
    return InitProducerIdResponse(
        error_code=claimed.outcome.error, producer_id=claimed.producer_id, producer_epoch=claimed.producer_epoch
    )


def claimant_of(client_id: str | None) -> int | None:
    """The coordinator that a client id names, by its node id or by its node.id; None if it names none."""
    number = (client_id or "").removeprefix(CLIENT_ID_PREFIX)
    if number == client_id or not (number.isascii() and number.isdigit() and len(number) < 7):
        return None
    return int(number) if int(number) >= COORDINATOR_ID_BASE else COORDINATOR_ID_BASE + int(number)
