"""AddPartitionsToTxn (API key 24), versions 0 to 5: one transaction until version 3, from producers; several from version 4 on,
from brokers: to register what a producer of transactions version 2 writes, or only to know whether it is registered.
"""

from collections.abc import Mapping, Sequence

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.ids import COORDINATOR_TOPICS
from millstream_coordinator.core.group.partitions import TopicPartition
from millstream_coordinator.core.transactions.courses import Producer, add_partitions, verify_partitions
from millstream_coordinator.core.transactions.transaction import EPOCH_BUMPED, EPOCH_KEPT
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from millstream_wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)

PRODUCER_FENCED_SINCE = 2
BATCHED_SINCE = 4
"""Several transactions in a request, from nodes only."""
Topics = Sequence[AddPartitionsToTxnTopic]


async def handle_add_partitions_to_txn(
    coordinator: Coordinator, request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse:
    if context.version < BATCHED_SINCE:
        denied = refuse_all(
            request, context, AclOperation.WRITE, AclResource.TRANSACTIONAL_ID, request.v3_and_below_transactional_id
        )
        if denied is not None:
            return denied
        producer = Producer(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
        )
        results = await _add(coordinator, producer, request.v3_and_below_topics, context)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
    if not context.may(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER):
        context.denied(AclOperation.CLUSTER_ACTION, AclResource.CLUSTER)
        return AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    response = AddPartitionsToTxnResponse()
    for each in request.transactions:
        producer = Producer(each.transactional_id, each.producer_id, each.producer_epoch)
        if each.verify_only:
            results = await _verify(coordinator, producer, each.topics)
        else:
            results = await _add(coordinator, producer, each.topics, context)
        response.results_by_transaction.append(
            AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=results)
        )
    return response


async def _add(
    coordinator: Coordinator, producer: Producer, topics: Topics, context: RequestContext
) -> list[AddPartitionsToTxnTopicResult]:
    wanted, version = _partitions(topics), context.version
    refused = {partition: _refusal(coordinator, partition, context) for partition in wanted}
    if any(refused.values()):
        return _answer(topics, {each: code or ErrorCode.OPERATION_NOT_ATTEMPTED for each, code in refused.items()})
    transactions = coordinator.transactions_of(producer.transactional_id)
    if isinstance(transactions, ErrorCode):
        return _refused(topics, transactions)
    client_version = EPOCH_BUMPED if version >= BATCHED_SINCE else EPOCH_KEPT
    error = await coordinator.committed(
        transactions.execute(
            lambda shard, now_ms: add_partitions(shard, producer, wanted, now_ms, client_version=client_version)
        )
    )
    if error is ErrorCode.PRODUCER_FENCED and version < PRODUCER_FENCED_SINCE:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return _refused(topics, error)


def _refusal(coordinator: Coordinator, partition: TopicPartition, context: RequestContext) -> ErrorCode:
    if context.version < BATCHED_SINCE:
        if partition[0] in COORDINATOR_TOPICS:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED  # a group's offsets come with AddOffsetsToTxn
        if not context.may(AclOperation.WRITE, AclResource.TOPIC, partition[0]):
            context.denied(AclOperation.WRITE, AclResource.TOPIC, partition[0])
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    exists = coordinator.transaction_nodes.exists(partition)
    return ErrorCode.NONE if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def _verify(coordinator: Coordinator, producer: Producer, topics: Topics) -> list[AddPartitionsToTxnTopicResult]:
    transactions = coordinator.transactions_of(producer.transactional_id)
    if isinstance(transactions, ErrorCode):
        return _refused(topics, transactions)
    wanted = _partitions(topics)
    found = await coordinator.committed(transactions.read(lambda shard: verify_partitions(shard, producer, wanted)))
    return _refused(topics, found) if isinstance(found, ErrorCode) else _answer(topics, found)


def _partitions(topics: Topics) -> list[TopicPartition]:
    return [(topic.name, index) for topic in topics for index in topic.partitions]


def _refused(topics: Topics, error: ErrorCode) -> list[AddPartitionsToTxnTopicResult]:
    return _answer(topics, dict.fromkeys(_partitions(topics), error))


def _answer(topics: Topics, errors: Mapping[TopicPartition, ErrorCode]) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=errors[topic.name, index])
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
