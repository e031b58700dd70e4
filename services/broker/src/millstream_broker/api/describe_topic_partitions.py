"""DescribeTopicPartitions (API key 75), version 0."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.describe_topic_partitions import describe_topic_partitions
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse


def handle_describe_topic_partitions(
    broker: Broker, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    return describe_topic_partitions(broker.image, request, context.may_what)
