"""DescribeTopicPartitions (API key 75), version 0."""

from millstream_cluster.answers.describe_topic_partitions import describe_topic_partitions
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.told_denials import say_denied
from millstream_wire.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse


def handle_describe_topic_partitions(
    coordinator: Coordinator, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    answer = describe_topic_partitions(coordinator.image, request, context.may_what)
    say_denied(context, ((topic.name, topic.error_code) for topic in answer.topics))
    return answer
