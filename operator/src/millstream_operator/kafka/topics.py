"""Topics over the admin protocol: what is there, and the steps of a plan carried out.

Which brokers get new partitions is the controller's decision: it makes one after the other and sees what the one before took.
Topics are reconciled several at a time, so a plan made here would not know of the others.
"""

from typing import assert_never
from uuid import UUID

from millstream_operator.kafka.cluster import REQUEST_TIMEOUT_MS, KafkaCluster, check
from millstream_operator.plan.topic import CreateTopic, GrowPartitions, PartitionSeen, SetConfigs, Step, TopicSeen
from millstream_wire.errors import ErrorCode
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

TOPIC_RESOURCE = 2
SET = 0
CLUSTER_DEFAULT = -1
DYNAMIC_TOPIC_CONFIG = 1


async def look_at(cluster: KafkaCluster, name: str) -> TopicSeen | None:
    metadata = await cluster.metadata([name])
    [topic] = metadata.topics
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    check(topic.error_code)
    partitions = tuple(
        PartitionSeen(p.partition_index, p.leader_id, tuple(p.replica_nodes), tuple(p.isr_nodes))
        for p in sorted(topic.partitions, key=lambda p: p.partition_index)
    )
    return TopicSeen(topic.topic_id, partitions, await _overrides(cluster, name))


async def _overrides(cluster: KafkaCluster, name: str) -> dict[str, str]:
    resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
    answer = await cluster.request(DescribeConfigsRequest(resources=[resource]))
    [result] = answer.results
    check(result.error_code, result.error_message)
    return {
        config.name: config.value
        for config in result.configs
        if config.config_source == DYNAMIC_TOPIC_CONFIG and config.value is not None
    }


async def perform(cluster: KafkaCluster, step: Step) -> None:
    match step:
        case CreateTopic():
            await _create(cluster, step)
        case GrowPartitions():
            await _grow(cluster, step)
        case SetConfigs():
            await _set_configs(cluster, step)
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
    topic = CreatePartitionsTopic(name=step.name, count=step.partitions)
    answer = await cluster.request(CreatePartitionsRequest(topics=[topic], timeout_ms=REQUEST_TIMEOUT_MS))
    [result] = answer.results
    check(result.error_code, result.error_message)


async def _set_configs(cluster: KafkaCluster, step: SetConfigs) -> None:
    configs = [
        AlterableConfig(name=key, config_operation=SET, value=value) for key, value in sorted(step.config.items())
    ]
    resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=step.name, configs=configs)
    answer = await cluster.request(IncrementalAlterConfigsRequest(resources=[resource]))
    [result] = answer.responses
    check(result.error_code, result.error_message)


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
