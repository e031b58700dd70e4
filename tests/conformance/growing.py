"""A cluster that gets more replicas than it began with, asked for as Kafka's own tools do it."""

from collections.abc import Mapping, Sequence

import servers
from ask import ask
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    PartitionMetadata,
    ResourceType,
)

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ElectLeadersRequest
from millstream_wire.messages import alter_partition_reassignments as wanted

TIMEOUT_S = 240


def create_topic(bootstrap: str, topic: str, partitions: int, *, replicas: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})  # has to outlive its answers
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(TIMEOUT_S)


def partitions_of(bootstrap: str) -> Mapping[tuple[str, int], PartitionMetadata]:
    """All there are, those of the coordinators' topics too."""
    topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).topics
    return {(name, each.id): each for name, topic in topics.items() for each in topic.partitions.values()}


def give_replicas(bootstrap: str, brokers: Sequence[int]) -> None:
    """Every partition gets one on each of these; all are in sync and lead their share when this returns."""
    topics: dict[str, list[wanted.ReassignablePartition]] = {}
    for topic, index in partitions_of(bootstrap):
        first = index % len(brokers)
        target = [*brokers[first:], *brokers[:first]]
        topics.setdefault(topic, []).append(wanted.ReassignablePartition(partition_index=index, replicas=target))
    request = wanted.AlterPartitionReassignmentsRequest(
        topics=[wanted.ReassignableTopic(name=name, partitions=moves) for name, moves in topics.items()]
    )
    (begun,) = ask(bootstrap, request)
    refused = [each for topic in begun.responses for each in topic.partitions if each.error_code != ErrorCode.NONE]
    assert (begun.error_code, refused) == (ErrorCode.NONE, [])
    servers.eventually(lambda: whole(bootstrap, len(brokers)), within_s=TIMEOUT_S)
    (elected,) = ask(bootstrap, ElectLeadersRequest(topic_partitions=None))
    assert elected.error_code == ErrorCode.NONE


def whole(bootstrap: str, replicas: int) -> None:
    """Every partition has so many, and all of them are in sync."""
    short = {
        name: (each.leader, each.replicas, each.isrs)
        for name, each in partitions_of(bootstrap).items()
        if each.leader < 0 or not len(each.replicas) == len(each.isrs) == replicas
    }
    assert short == {}, short


def two_in_sync(bootstrap: str) -> None:
    """What is acknowledged from here on is on two brokers at least, in every topic there is."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    entry = ConfigEntry("min.insync.replicas", "2", incremental_operation=AlterConfigOpType.SET)
    names = sorted({topic for topic, _ in partitions_of(bootstrap)})
    resources = [ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry]) for name in names]
    for future in admin.incremental_alter_configs(resources).values():
        future.result(TIMEOUT_S)
