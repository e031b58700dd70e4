"""DescribeProducers (API key 61), version 0: the idempotent producers a partition remembers."""

from millstream_broker.shell.broker import Broker
from millstream_runtime.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeProducersRequest, DescribeProducersResponse
from millstream_wire.messages.describe_producers import PartitionResponse, ProducerState, TopicResponse


def handle_describe_producers(
    broker: Broker, request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    topics = [
        TopicResponse(
            name=topic.name, partitions=[_describe(broker, topic.name, index) for index in topic.partition_indexes]
        )
        for topic in request.topics
    ]
    return DescribeProducersResponse(topics=topics)


def _describe(broker: Broker, topic: str, index: int) -> PartitionResponse:
    replica = broker.locate(topic, index)
    if isinstance(replica, ErrorCode):
        return PartitionResponse(partition_index=index, error_code=replica)
    producers = [
        ProducerState(
            producer_id=entry.producer_id,
            producer_epoch=entry.epoch,
            last_sequence=entry.last_sequence,
            last_timestamp=entry.last_timestamp,
            coordinator_epoch=entry.coordinator_epoch,
            current_txn_start_offset=entry.transaction_start,
        )
        for entry in replica.log.producers
    ]
    return PartitionResponse(partition_index=index, active_producers=producers)
