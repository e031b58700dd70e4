"""InitProducerId (API key 22), versions 0 to 5, without a transactional id: any broker gives one, so we ask it.

With a transactional id it is refused: this cluster has no transactions yet.
"""

from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.client import ClientError
from millstream_runtime.context import RawReply, RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import InitProducerIdRequest, InitProducerIdResponse


async def handle_init_producer_id(
    coordinator: Coordinator, request: InitProducerIdRequest, context: RequestContext
) -> RawReply | InitProducerIdResponse:
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    try:
        return await coordinator.forward_to_broker(context.frame)
    except ClientError:
        return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1)
