"""DescribeProducers (API key 61), version 0: the idempotent producers a partition remembers."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.answers.topic_name import wrong_with_topic_name
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_where
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeProducersRequest, DescribeProducersResponse
from millstream_wire.messages.describe_producers import PartitionResponse, ProducerState, TopicRequest, TopicResponse

_NO_SUCH_TOPIC = "This server does not host this topic-partition."


def handle_describe_producers(
    broker: Broker, request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    def is_permitted(topic: TopicRequest) -> bool:
        """What is no name is refused for that, whoever asks."""
        return bool(wrong_with_topic_name(topic.name)) or context.may(AclOperation.READ, AclResource.TOPIC, topic.name)

    refused = refuse_where(request, context, "topics", is_permitted, AclOperation.READ)
    topics = [
        TopicResponse(
            name=topic.name, partitions=[_describe(broker, topic.name, index) for index in topic.partition_indexes]
        )
        for topic in request.topics
    ]
    return joined(DescribeProducersResponse(topics=topics), refused)


def _describe(broker: Broker, topic: str, index: int) -> PartitionResponse:
    wrong = wrong_with_topic_name(topic)
    if wrong is not None:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return PartitionResponse(partition_index=index, error_code=code, error_message=wrong)
    replica = broker.locate(topic, index)
    if isinstance(replica, ErrorCode):
        message = _NO_SUCH_TOPIC if broker.image.topic(topic) is None else None
        return PartitionResponse(partition_index=index, error_code=replica, error_message=message)
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
