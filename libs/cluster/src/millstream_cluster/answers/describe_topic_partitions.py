"""DescribeTopicPartitions (API key 75), version 0, from an Image: topics in order of their names, page by page."""

from collections.abc import Sequence

from millstream_cluster.acls import AclOperation, AclResource, May, permits
from millstream_cluster.answers.metadata import offline_replicas
from millstream_cluster.answers.operations import authorized_operations
from millstream_cluster.answers.topic_name import is_valid_topic_name
from millstream_cluster.image import Image
from millstream_cluster.members import Partition, Topic
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from millstream_wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

PARTITION_LIMIT = 2000
"""max.request.partition.size.limit: a page never has more."""


def describe_topic_partitions(
    image: Image, request: DescribeTopicPartitionsRequest, may: May | None = None
) -> DescribeTopicPartitionsResponse:
    """Describe the named topics, or all if none is named, from the cursor on."""
    asked = {topic.name for topic in request.topics}
    if _is_bad(request.cursor, asked):
        refused = [
            DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name)
            for topic in request.topics
        ]
        return DescribeTopicPartitionsResponse(topics=refused)
    names = sorted(asked or image.topics)
    shown_names = [name for name in names if permits(may, AclOperation.DESCRIBE, AclResource.TOPIC, name)]
    answer = _page(image, request, shown_names)
    for told in answer.topics:
        told.topic_authorized_operations = authorized_operations(may, AclResource.TOPIC, told.name or "")
    if asked:
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        first = request.cursor.topic_name if request.cursor is not None else ""
        hidden = sorted(name for name in asked.difference(shown_names) if name >= first)
        answer.topics += [DescribeTopicPartitionsResponseTopic(error_code=code, name=name) for name in hidden]
    return answer


def _page(image: Image, request: DescribeTopicPartitionsRequest, names: list[str]) -> DescribeTopicPartitionsResponse:
    first = 0
    if request.cursor is not None:
        names = [name for name in names if name >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first = request.cursor.partition_index
    left = max(1, min(request.response_partition_limit, PARTITION_LIMIT))
    answer = DescribeTopicPartitionsResponse()
    for name in names:
        if left == 0:
            answer.next_cursor = Cursor(topic_name=name)
            return answer
        topic = image.topic(name)
        if topic is None:
            answer.topics.append(_missing(name))
            first = 0
            continue
        shown = topic.partitions[first : first + left]
        answer.topics.append(_topic(image, topic, shown))
        left -= len(shown)
        if first + len(shown) < len(topic.partitions):
            answer.next_cursor = Cursor(topic_name=name, partition_index=first + len(shown))
            return answer
        first = 0
    return answer


def _is_bad(cursor: Cursor | None, asked: set[str]) -> bool:
    """A cursor is in one of the topics that are asked for; of all topics, its own may have gone since."""
    return cursor is not None and (cursor.partition_index < 0 or bool(asked and cursor.topic_name not in asked))


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    valid = is_valid_topic_name(name)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if valid else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name)


def _topic(image: Image, topic: Topic, shown: Sequence[Partition]) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=[_partition(image, partition) for partition in shown],
    )


def _partition(image: Image, partition: Partition) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if partition.online else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=partition.partition,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=offline_replicas(image, partition),
    )
