"""One error for everything that a transactional request asks: at a node that does not coordinate the transaction."""

from collections.abc import Sequence

from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from millstream_wire.messages.describe_transactions import TransactionState
from millstream_wire.messages.txn_offset_commit import TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic
from millstream_wire.schema import Request, Response

BATCHED_SINCE = 4
"""Of AddPartitionsToTxn: several transactions in a request, from nodes only."""


def is_half_known(request: m.InitProducerIdRequest) -> bool:
    """Whether it names a producer's id without an epoch, or an epoch without an id."""
    return (request.producer_id == -1) != (request.producer_epoch == -1)


def refuse_transaction(request: Request, version: int, code: ErrorCode) -> Response:
    """Refuse a transactional request as a whole, in the shape its version has."""
    match request:
        case m.AddPartitionsToTxnRequest():
            if version < BATCHED_SINCE:
                topics = refuse_partitions(request.v3_and_below_topics, code)
                return m.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)
            results = [
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id, topic_results=refuse_partitions(each.topics, code)
                )
                for each in request.transactions
            ]
            return m.AddPartitionsToTxnResponse(results_by_transaction=results)
        case m.AddOffsetsToTxnRequest():
            return m.AddOffsetsToTxnResponse(error_code=code)
        case m.EndTxnRequest():
            return m.EndTxnResponse(error_code=code)
        case m.TxnOffsetCommitRequest():
            return refuse_txn_offsets(request, code)
        case m.DescribeTransactionsRequest():
            states = [TransactionState(transactional_id=each, error_code=code) for each in request.transactional_ids]
            return m.DescribeTransactionsResponse(transaction_states=states)
        case _:
            raise TypeError(f"{type(request).__name__} is not a transactional request")


def refuse_partitions(
    topics: Sequence[AddPartitionsToTxnTopic], code: ErrorCode
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def refuse_txn_offsets(request: m.TxnOffsetCommitRequest, code: ErrorCode) -> m.TxnOffsetCommitResponse:
    topics = [
        TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return m.TxnOffsetCommitResponse(topics=topics)
