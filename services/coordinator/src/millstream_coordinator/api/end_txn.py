"""EndTxn (API key 26), versions 0 to 5: commit or abort. Answered once that is decided for good; the markers follow.

Version 5 (transactions version 2) also answers the producer id and epoch to go on with.
"""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.transactions.bumping_end import Ended, end_and_bump
from millstream_coordinator.core.transactions.courses import Producer, end_transaction
from millstream_coordinator.core.transactions.transaction import NO_EPOCH, NO_PRODUCER
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.transactions.transactions import Transactions
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import EndTxnRequest, EndTxnResponse

PRODUCER_FENCED_SINCE = 2
BUMPS_SINCE = 5


async def handle_end_txn(coordinator: Coordinator, request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    if not context.may(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, request.transactional_id):
        context.denied(AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, request.transactional_id)
        return _refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    transactions = coordinator.transactions_of(request.transactional_id)
    if isinstance(transactions, ErrorCode):
        return _refuse(transactions)
    producer = Producer(request.transactional_id, request.producer_id, request.producer_epoch)
    if context.version >= BUMPS_SINCE:
        return await _end_and_bump(coordinator, transactions, producer, commit=request.committed)
    error = await coordinator.committed(
        transactions.execute(lambda shard, now_ms: end_transaction(shard, producer, now_ms, commit=request.committed))
    )
    if error is ErrorCode.PRODUCER_FENCED and context.version < PRODUCER_FENCED_SINCE:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return _refuse(error)


async def _end_and_bump(
    coordinator: Coordinator, transactions: Transactions, producer: Producer, *, commit: bool
) -> EndTxnResponse:
    async def end(unused_id: int | None) -> Ended:
        outcome = await coordinator.committed(
            transactions.execute(lambda shard, now_ms: end_and_bump(shard, producer, unused_id, now_ms, commit=commit))
        )
        return Ended(outcome) if isinstance(outcome, ErrorCode) else outcome

    ended = await end(None)
    if ended.wants_id:
        unused_id = await coordinator.transaction_nodes.unused_producer_id()
        if unused_id is None:
            return _refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        ended = await end(unused_id)
    return EndTxnResponse(error_code=ended.error, producer_id=ended.producer_id, producer_epoch=ended.producer_epoch)


def _refuse(error: ErrorCode) -> EndTxnResponse:
    return EndTxnResponse(error_code=error, producer_id=NO_PRODUCER, producer_epoch=NO_EPOCH)
