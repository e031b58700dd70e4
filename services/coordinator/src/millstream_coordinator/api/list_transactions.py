"""ListTransactions (API key 66), versions 0 to 2: those of this coordinator, by state, producer, duration (1), pattern (2)."""

from collections.abc import Iterable

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.consumer.regex import RegexError, TopicPattern
from millstream_coordinator.core.transactions.transaction import Transaction, TransactionState
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListTransactionsRequest, ListTransactionsResponse
from millstream_wire.messages.list_transactions import TransactionState as ListedTransaction

PREPARE_EPOCH_FENCE = "PrepareEpochFence"
"""A state of Kafka's in which nothing is ever seen."""
STATES = {PREPARE_EPOCH_FENCE, *(state.text for state in TransactionState)}


async def handle_list_transactions(
    coordinator: Coordinator, request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse:
    if coordinator.transaction_shards.loading:
        # Some are not known yet, and a list that leaves them out reads as if they were gone.
        return ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    if error := await coordinator.confirmed(*coordinator.transaction_shards.serving()):
        return ListTransactionsResponse(error_code=error)
    response = ListTransactionsResponse(
        unknown_state_filters=list(dict.fromkeys(state for state in request.state_filters if state not in STATES))
    )
    now_ms = coordinator.world.now_ms()
    found = {
        transaction.transactional_id: transaction
        for transactions in coordinator.transaction_shards.serving()
        for transaction in transactions.shard.transactions.values()
        if _is_wanted(transaction, request, now_ms)
        and context.may(AclOperation.DESCRIBE, AclResource.TRANSACTIONAL_ID, transaction.transactional_id)
    }
    wanted: Iterable[str] = found
    if request.transactional_id_pattern:
        try:
            wanted = TopicPattern(request.transactional_id_pattern).matching(found)
        except RegexError:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    response.transaction_states = [
        ListedTransaction(
            transactional_id=transactional_id,
            producer_id=found[transactional_id].producer_id,
            transaction_state=found[transactional_id].state.text,
        )
        for transactional_id in wanted
    ]
    return response


def _is_wanted(transaction: Transaction, request: ListTransactionsRequest, now_ms: int) -> bool:
    if request.state_filters and transaction.state.text not in request.state_filters:
        return False
    if request.producer_id_filters and transaction.producer_id not in request.producer_id_filters:
        return False
    # What never began anything is taken for very old, as by Kafka.
    return request.duration_filter < 0 or now_ms - transaction.start_ms > request.duration_filter
