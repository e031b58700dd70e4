"""Topics over the admin protocol: what is there, and the steps of a plan carried out.

Which brokers get new partitions is the controller's decision: it makes one after the other and sees what the one before took.
Topics are reconciled several at a time, so a plan made here would not know of the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never
from uuid import UUID

from millstream_operator.kafka.cluster import REQUEST_TIMEOUT_MS, KafkaCluster, check
from millstream_operator.plan.topic import (
    CreateTopic,
    GrowPartitions,
    MoveReplicas,
    PartitionSeen,
    SetConfigs,
    Step,
    TopicSeen,
)
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream_wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from millstream_wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from millstream_wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from millstream_wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from millstream_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from millstream_wire.messages.metadata import MetadataResponseTopic

TOPIC_RESOURCE = 2
SET = 0
DELETE = 1
CLUSTER_DEFAULT = -1
DYNAMIC_TOPIC_CONFIG = 1


async def look_at(cluster: KafkaCluster, name: str) -> TopicSeen | None:
    metadata = await cluster.metadata([name])
    [topic] = metadata.topics
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    check(topic.error_code)
    return _seen(topic, (await _overrides(cluster, {name: None})).get(name, {}))


@dataclass(frozen=True, slots=True)
class Glance:
    """All topics of a cluster at once: two requests however many there are."""

    read_ms: int
    topics: Mapping[str, TopicSeen]
    """Of their configs those keys alone that were asked about."""
    hosts: Mapping[int, str]
    """Of the nodes."""


async def glance_at(cluster: KafkaCluster, declared: Mapping[str, Sequence[str] | None], now_ms: int) -> Glance:
    """`declared`: the config keys that somebody wants to know of, by topic; None for all."""
    metadata = await cluster.metadata(None)
    there = {topic.name or "": topic for topic in metadata.topics if topic.error_code == ErrorCode.NONE}
    overrides = await _overrides(
        cluster, {name: keys for name, keys in declared.items() if keys != [] and name in there}
    )
    seen = {name: _seen(topic, overrides.get(name, {})) for name, topic in there.items() if name in declared}
    return Glance(now_ms, seen, {node.node_id: node.host for node in metadata.brokers})


def _seen(topic: MetadataResponseTopic, overrides: Mapping[str, str]) -> TopicSeen:
    partitions = tuple(
        PartitionSeen(p.partition_index, p.leader_id, tuple(p.replica_nodes), tuple(p.isr_nodes))
        for p in sorted(topic.partitions, key=lambda p: p.partition_index)
    )
    return TopicSeen(topic.topic_id, partitions, overrides)


async def _overrides(cluster: KafkaCluster, wanted: Mapping[str, Sequence[str] | None]) -> dict[str, dict[str, str]]:
    """What is set for each topic itself; of the keys that are wanted, None for all. One that is gone has nothing."""
    if not wanted:
        return {}
    resources = [
        DescribeConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None if keys is None else list(keys)
        )
        for name, keys in wanted.items()
    ]
    answer = await cluster.request(DescribeConfigsRequest(resources=resources))
    found = {}
    for result in answer.results:
        if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue
        check(result.error_code, result.error_message)
        found[result.resource_name] = {
            config.name: config.value
            for config in result.configs
            if config.config_source == DYNAMIC_TOPIC_CONFIG and config.value is not None
        }
    return found


async def perform(cluster: KafkaCluster, step: Step) -> None:
    match step:
        case CreateTopic():
            await _create(cluster, step)
        case GrowPartitions():
            await _grow(cluster, step)
        case SetConfigs():
            await _set_configs(cluster, step)
        case MoveReplicas():
            await reassign(cluster, step.replicas)
        case _:
            assert_never(step)


async def _create(cluster: KafkaCluster, step: CreateTopic) -> None:
    topic = CreatableTopic(
        name=step.name,
        num_partitions=step.partitions,
        replication_factor=CLUSTER_DEFAULT if step.replication_factor is None else step.replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in sorted(step.config.items())],
    )
    answer = await cluster.request(CreateTopicsRequest(topics=[topic], timeout_ms=REQUEST_TIMEOUT_MS))
    [result] = answer.topics
    check(result.error_code, result.error_message)


async def _grow(cluster: KafkaCluster, step: GrowPartitions) -> None:
    topic = CreatePartitionsTopic(name=step.name, count=step.partitions, assignments=None)
    answer = await cluster.request(CreatePartitionsRequest(topics=[topic], timeout_ms=REQUEST_TIMEOUT_MS))
    [result] = answer.results
    check(result.error_code, result.error_message)


async def _set_configs(cluster: KafkaCluster, step: SetConfigs) -> None:
    configs = [
        AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
        for key, value in sorted(step.config.items())
    ]
    resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=step.name, configs=configs)
    answer = await cluster.request(IncrementalAlterConfigsRequest(resources=[resource]))
    [result] = answer.responses
    check(result.error_code, result.error_message)


async def reassign(cluster: KafkaCluster, replicas: Mapping[tuple[str, int], Sequence[int]]) -> None:
    """What is refused of it (a topic that was deleted meanwhile, a partition that is on the move already) the next plan sees."""
    by_topic: dict[str, list[ReassignablePartition]] = {}
    for (topic, index), nodes in replicas.items():
        by_topic.setdefault(topic, []).append(ReassignablePartition(partition_index=index, replicas=list(nodes)))
    topics = [ReassignableTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    answer = await cluster.request(AlterPartitionReassignmentsRequest(timeout_ms=REQUEST_TIMEOUT_MS, topics=topics))
    check(answer.error_code, answer.error_message)


async def topic_id_of(cluster: KafkaCluster, name: str) -> UUID | None:
    metadata = await cluster.metadata([name])
    [topic] = metadata.topics
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    check(topic.error_code)
    return topic.topic_id


async def delete(cluster: KafkaCluster, topic_id: UUID) -> None:
    """By id: a topic of the same name that somebody made meanwhile stays."""
    state = DeleteTopicState(name=None, topic_id=topic_id)
    answer = await cluster.request(DeleteTopicsRequest(topics=[state], timeout_ms=REQUEST_TIMEOUT_MS))
    [result] = answer.responses
    if result.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
        check(result.error_code, result.error_message)
