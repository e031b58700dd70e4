"""InitProducerId (API key 22), versions 0 to 5, without a transactional id; with one, its coordinator is to be asked."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.init_producer_id import is_half_known
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.producer_rights import refusal_of_producer
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import InitProducerIdRequest, InitProducerIdResponse


def handle_init_producer_id(
    broker: Broker, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    refusal = refusal_of_producer(context, request.transactional_id)
    if refusal is not ErrorCode.NONE:
        return InitProducerIdResponse(error_code=refusal, producer_epoch=-1)
    if is_half_known(request):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.NOT_COORDINATOR, producer_epoch=-1)
    producer_id = broker.producer_ids.take()
    if producer_id is None:
        # Kafka's answer while it has no block: retriable, the controller owes us one.
        return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
