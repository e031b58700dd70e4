"""AddOffsetsToTxn (API key 25), versions 0 to 4: the transaction will commit offsets of a group too."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.ids import OFFSETS_TOPIC
from millstream_coordinator.core.transactions.courses import Producer, add_partitions
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

PRODUCER_FENCED_SINCE = 2


async def handle_add_offsets_to_txn(
    coordinator: Coordinator, request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse:
    denied = refuse_all(request, context, AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, request.transactional_id)
    denied = denied or refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    error = await _add(coordinator, request)
    if error is ErrorCode.PRODUCER_FENCED and context.version < PRODUCER_FENCED_SINCE:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=error)


async def _add(coordinator: Coordinator, request: AddOffsetsToTxnRequest) -> ErrorCode:
    transactions = coordinator.transactions_of(request.transactional_id)
    if isinstance(transactions, ErrorCode):
        return transactions
    partition = coordinator.transaction_nodes.offsets_partition(request.group_id)
    if (
        partition is None
    ):  # nobody has asked for a group's coordinator yet, and this producer will not before we say yes
        coordinator.topic_creation.want(OFFSETS_TOPIC)
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    producer = Producer(request.transactional_id, request.producer_id, request.producer_epoch)
    return await coordinator.committed(
        transactions.execute(lambda shard, now_ms: add_partitions(shard, producer, [partition], now_ms))
    )
