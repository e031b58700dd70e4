"""EndTxn (API key 26), versions 0 to 5: commit or abort. Answered once that is decided for good; the markers follow.

Version 5 has room for a next epoch; without transactions version 2 the producer keeps the one it has.
"""

from millstream_coordinator.core.transactions.courses import Producer, end_transaction
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import EndTxnRequest, EndTxnResponse

PRODUCER_FENCED_SINCE = 2


async def handle_end_txn(coordinator: Coordinator, request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    transactions = coordinator.transactions_of(request.transactional_id)
    if isinstance(transactions, ErrorCode):
        return EndTxnResponse(error_code=transactions)
    producer = Producer(request.transactional_id, request.producer_id, request.producer_epoch)
    error = await coordinator.committed(
        transactions.execute(lambda shard, now_ms: end_transaction(shard, producer, now_ms, commit=request.committed))
    )
    if error is ErrorCode.PRODUCER_FENCED and context.version < PRODUCER_FENCED_SINCE:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    if error is not ErrorCode.NONE:
        return EndTxnResponse(error_code=error)
    return EndTxnResponse(producer_id=request.producer_id, producer_epoch=request.producer_epoch)
