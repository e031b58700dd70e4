"""InitProducerId (API key 22), versions 0 to 5: of a transactional id's producer; without one any broker gives an id."""

from millstream_cluster.answers.init_producer_id import is_half_known
from millstream_coordinator.core.transactions.producers import Initialized, InitRequest, init_producer
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.producer_rights import refusal_of_producer
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import InitProducerIdRequest, InitProducerIdResponse

PRODUCER_FENCED_SINCE = 4


async def handle_init_producer_id(
    coordinator: Coordinator, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    refusal = refusal_of_producer(context, request.transactional_id)
    if refusal is not ErrorCode.NONE:
        return InitProducerIdResponse(error_code=refusal, producer_epoch=-1)
    if is_half_known(request):
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    if request.transactional_id is not None:
        return await _init_transactional(coordinator, request, context)
    try:
        return await coordinator.ask_broker(request)
    except ClientError:
        return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1)


async def _init_transactional(
    coordinator: Coordinator, request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    initialized = await _initialize(coordinator, request, None)
    if initialized.wants_id:
        unused_id = await coordinator.transaction_nodes.unused_producer_id()
        if unused_id is None:
            return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1)
        initialized = await _initialize(coordinator, request, unused_id)
    error = initialized.error
    if error is ErrorCode.PRODUCER_FENCED and context.version < PRODUCER_FENCED_SINCE:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(
        error_code=error, producer_id=initialized.producer_id, producer_epoch=initialized.producer_epoch
    )


async def _initialize(coordinator: Coordinator, request: InitProducerIdRequest, unused_id: int | None) -> Initialized:
    transactional_id = request.transactional_id or ""
    transactions = coordinator.transactions_of(transactional_id)
    if isinstance(transactions, ErrorCode):
        return Initialized(transactions)
    wanted = InitRequest(
        transactional_id=transactional_id,
        timeout_ms=request.transaction_timeout_ms,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
    )
    timeout_max_ms = transactions.limits.timeout_max_ms
    outcome = await coordinator.committed(
        transactions.execute(
            lambda shard, now_ms: init_producer(shard, wanted, unused_id, now_ms, timeout_max_ms=timeout_max_ms)
        )
    )
    return Initialized(outcome) if isinstance(outcome, ErrorCode) else outcome
