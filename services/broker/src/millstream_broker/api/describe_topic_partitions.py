"""DescribeTopicPartitions (API key 75), version 0."""

from millstream_broker.shell.broker import Broker
from millstream_cluster.answers.describe_topic_partitions import describe_topic_partitions
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.told_denials import say_denied
from millstream_wire.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse


def handle_describe_topic_partitions(
    broker: Broker, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    answer = describe_topic_partitions(broker.image, request, context.may_what)
    say_denied(context, ((topic.name, topic.error_code) for topic in answer.topics))
    return answer
