"""Transactions from outside: which there are, what is in one, and how to end one whose producer is gone."""

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Backoff, Cluster
from millstream_client.errors import Refused, check, code_of
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.describe_transactions import DescribeTransactionsRequest
from millstream_wire.messages.find_coordinator import FindCoordinatorRequest
from millstream_wire.messages.init_producer_id import InitProducerIdRequest
from millstream_wire.messages.list_transactions import ListTransactionsRequest

_OF_TRANSACTIONS = 1
_TERMINATING_TIMEOUT_MS = 60_000
GIVE_UP_MS = 30_000
_PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class Transaction:
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[TopicPartition, ...]
    coordinator: int


async def list_transactions(cluster: Cluster) -> list[ListedTransaction]:
    """Every node tells of those that it coordinates."""
    snapshot = await cluster.describe([])
    found = []
    for node_id in snapshot.nodes:
        answer = await cluster.ask(node_id, ListTransactionsRequest())
        check(answer.error_code, subject=f"transactions of node {node_id}")
        found += [
            ListedTransaction(each.transactional_id, each.producer_id, each.transaction_state, node_id)
            for each in answer.transaction_states
        ]
    return sorted(found, key=lambda each: each.transactional_id)


async def describe_transaction(cluster: Cluster, transactional_id: str) -> Transaction:
    node_id, address = await _coordinator(cluster, transactional_id)
    answer = await cluster.ask_at(address, DescribeTransactionsRequest(transactional_ids=[transactional_id]))
    found = answer.transaction_states[0]
    check(found.error_code, subject=f"transactional id {transactional_id}")
    return Transaction(
        transactional_id,
        found.transaction_state,
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None,
        tuple(TopicPartition(topic.topic, index) for topic in found.topics for index in sorted(topic.partitions)),
        node_id,
    )


async def abort_transaction(cluster: Cluster, transactional_id: str) -> None:
    """Begin another life of this producer, which ends what the last one has left open and fences it."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=_TERMINATING_TIMEOUT_MS,
        producer_id=-1,
        producer_epoch=-1,
    )
    deadline_ms = cluster.world.monotonic_ms() + GIVE_UP_MS
    backoff = Backoff()
    while True:
        _, address = await _coordinator(cluster, transactional_id)
        code = code_of((await cluster.ask_at(address, request)).error_code)
        if code not in _PASSING or cluster.world.monotonic_ms() > deadline_ms:
            check(code, subject=f"transactional id {transactional_id}")
            return
        await backoff.wait()


async def _coordinator(cluster: Cluster, transactional_id: str) -> tuple[int, tuple[str, int]]:
    request = FindCoordinatorRequest(
        key=transactional_id, key_type=_OF_TRANSACTIONS, coordinator_keys=[transactional_id]
    )
    answer = await cluster.ask_any(request)
    found = answer.coordinators[0] if answer.coordinators else answer
    if found.error_code:
        raise Refused(found.error_code, found.error_message, subject=f"transactional id {transactional_id}")
    return found.node_id, (found.host, found.port)
