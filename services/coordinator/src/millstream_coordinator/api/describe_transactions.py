"""DescribeTransactions (API key 65), version 0."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.transactions.transaction import Transaction
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeTransactionsRequest, DescribeTransactionsResponse
from millstream_wire.messages.describe_transactions import TopicData, TransactionState


async def handle_describe_transactions(
    coordinator: Coordinator, request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    refused = refuse_some(request, context, "transactional_ids", AclOperation.DESCRIBE, AclResource.TRANSACTIONAL_ID)
    states = [await _describe(coordinator, transactional_id) for transactional_id in request.transactional_ids]
    for state in states:
        state.topics = [
            each for each in state.topics if context.may(AclOperation.DESCRIBE, AclResource.TOPIC, each.topic)
        ]
    return joined(DescribeTransactionsResponse(transaction_states=states), refused)


async def _describe(coordinator: Coordinator, transactional_id: str) -> TransactionState:
    transactions = coordinator.transactions_of(transactional_id)
    if isinstance(transactions, ErrorCode):
        return TransactionState(transactional_id=transactional_id, error_code=transactions)
    found = await coordinator.committed(transactions.read(lambda shard: shard.transactions.get(transactional_id)))
    if isinstance(found, ErrorCode):
        return TransactionState(transactional_id=transactional_id, error_code=found)
    if found is None:
        error = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return TransactionState(transactional_id=transactional_id, error_code=error)
    return _state(found)


def _state(transaction: Transaction) -> TransactionState:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return TransactionState(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.text,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[TopicData(topic=topic, partitions=indexes) for topic, indexes in topics.items()],
    )
