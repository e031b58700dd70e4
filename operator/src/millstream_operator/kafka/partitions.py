"""How all partitions of a cluster stand, by a few requests however many there are; and those begun anew that nobody has any more."""

from collections.abc import Sequence
from dataclasses import replace

from millstream_operator.kafka.cluster import REQUEST_TIMEOUT_MS, KafkaCluster, check
from millstream_operator.kafka.topics import TOPIC_RESOURCE
from millstream_operator.plan.partitions import PartitionStanding
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from millstream_wire.messages.describe_quorum import DescribeQuorumRequest, RequestPartitionData, RequestTopicData
from millstream_wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from millstream_wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from millstream_wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from millstream_wire.messages.metadata import MetadataResponseTopic

MIN_ISR = "min.insync.replicas"
UNCLEAN = 1
METADATA_TOPIC = "__cluster_metadata"


async def standing_of(cluster: KafkaCluster) -> tuple[PartitionStanding, ...]:
    """Raises ClusterUnreachable and Refused: what is not known for certain is not told.

    Brokers answer all of this from what they know, also where they hear of nothing new. So first comes a question that the broker
    passes on: where no controller answers it, nobody takes out of an ISR who is gone.
    """
    await _expect_a_controller(cluster)
    metadata = await cluster.metadata(None)
    topics = [topic for topic in metadata.topics if topic.error_code == ErrorCode.NONE]
    minimums = await _minimums(cluster, [topic.name or "" for topic in topics])
    moving = await _moving(cluster)
    found = [
        each for topic in topics if topic.name in minimums for each in _of_topic(topic, minimums[topic.name], moving)
    ]
    eligible = await _eligible(cluster, sorted({each.topic for each in found if each.is_offline and not each.isr}))
    return tuple(replace(each, may_lead=eligible.get((each.topic, each.index), ())) for each in found)


async def _expect_a_controller(cluster: KafkaCluster) -> None:
    topic = RequestTopicData(topic_name=METADATA_TOPIC, partitions=[RequestPartitionData(partition_index=0)])
    answer = await cluster.request(DescribeQuorumRequest(topics=[topic]))
    check(answer.error_code)


def _of_topic(topic: MetadataResponseTopic, minimum: int, moving: set[tuple[str, int]]) -> list[PartitionStanding]:
    name = topic.name or ""
    return [
        PartitionStanding(
            topic=name,
            index=each.partition_index,
            leader=each.leader_id,
            replicas=tuple(each.replica_nodes),
            isr=tuple(each.isr_nodes),
            min_insync_replicas=minimum,
            is_internal=topic.is_internal,
            is_moving=(name, each.partition_index) in moving,
            leader_epoch=each.leader_epoch,
        )
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    ]


async def _minimums(cluster: KafkaCluster, topics: list[str]) -> dict[str, int]:
    """By topic; one that was deleted meanwhile is not there."""
    if not topics:
        return {}
    resources = [
        DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=[MIN_ISR])
        for name in topics
    ]
    answer = await cluster.request(DescribeConfigsRequest(resources=resources))
    found = {}
    for result in answer.results:
        if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue
        check(result.error_code, result.error_message)
        [config] = result.configs
        found[result.resource_name] = int(config.value)
    return found


async def _eligible(cluster: KafkaCluster, topics: list[str]) -> dict[tuple[str, int], tuple[int, ...]]:
    """Who has all that was committed of a partition, or led it last, though nobody is in sync. Not asked at rest."""
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    cursor: Cursor | None = None
    while topics:
        wanted = [TopicRequest(name=name) for name in topics]
        answer = await cluster.request(DescribeTopicPartitionsRequest(topics=wanted, cursor=cursor))
        for topic in answer.topics:
            for each in topic.partitions:
                nodes = (*(each.eligible_leader_replicas or ()), *(each.last_known_elr or ()))
                found[topic.name or "", each.partition_index] = nodes
        cursor = answer.next_cursor
        if cursor is None:
            break
        topics = [name for name in topics if name >= cursor.topic_name]
    return found


async def begin_anew(cluster: KafkaCluster, gone: Sequence[PartitionStanding]) -> list[str]:
    """Have somebody lead them without their records; what was refused of it, in words. Raises ClusterUnreachable, Refused."""
    by_topic: dict[str, list[int]] = {}
    for each in gone:
        by_topic.setdefault(each.topic, []).append(each.index)
    asked = [TopicPartitions(topic=topic, partitions=indices) for topic, indices in by_topic.items()]
    request = ElectLeadersRequest(election_type=UNCLEAN, topic_partitions=asked, timeout_ms=REQUEST_TIMEOUT_MS)
    answer = await cluster.request(request)
    check(answer.error_code)
    return [
        f"{topic.topic}-{each.partition_id}: {each.error_message or ErrorCode(each.error_code).name}"
        for topic in answer.replica_election_results
        for each in topic.partition_result
        if each.error_code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    ]


async def _moving(cluster: KafkaCluster) -> set[tuple[str, int]]:
    answer = await cluster.request(ListPartitionReassignmentsRequest(timeout_ms=REQUEST_TIMEOUT_MS, topics=None))
    check(answer.error_code, answer.error_message)
    return {(topic.name, each.partition_index) for topic in answer.topics for each in topic.partitions}
