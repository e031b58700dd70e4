"""AllocateProducerIds (67), version 0, from brokers."""

from millstream_cluster.acls import AclOperation
from millstream_controller.core.producer_ids import allocate
from millstream_controller.shell.active import NotActive
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse


async def handle_allocate_producer_ids(
    controller: Controller, request: AllocateProducerIdsRequest, context: RequestContext
) -> AllocateProducerIdsResponse:
    try:
        refused = refuse_all(request, context, AclOperation.CLUSTER_ACTION)
        if refused is not None:
            return refused
        block = await controller.active.execute(
            lambda machine: allocate(machine, request.broker_id, request.broker_epoch)
        )
    except NotActive:
        return AllocateProducerIdsResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return AllocateProducerIdsResponse(
        error_code=block.outcome.error, producer_id_start=block.start, producer_id_len=block.length
    )
