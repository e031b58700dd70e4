"""What a client knows of a cluster: values made from Metadata responses."""

import uuid
from collections.abc import Mapping
from dataclasses import field

from millstream_client.addresses import Address
from millstream_client.errors import code_of
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.metadata import MetadataResponse, MetadataResponseTopic

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Partition:
    index: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as of `known_ms` on the loop's clock; its partitions are numbered from 0."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    partitions: tuple[Partition, ...]
    known_ms: int

    @property
    def available(self) -> list[int]:
        return [each.index for each in self.partitions if each.leader_id != NO_LEADER]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One answer: nodes by id, topics by name, and the topics that it answered with an error."""

    cluster_id: str | None = None
    controller_id: int = -1
    nodes: Mapping[int, Address] = field(default_factory=dict)
    racks: Mapping[int, str | None] = field(default_factory=dict)
    topics: Mapping[str, Topic] = field(default_factory=dict)
    errors: Mapping[str, ErrorCode] = field(default_factory=dict)


def snapshot_of(answer: MetadataResponse, *, now_ms: int) -> Snapshot:
    topics = [each for each in answer.topics if each.name is not None]
    return Snapshot(
        cluster_id=answer.cluster_id,
        controller_id=answer.controller_id,
        nodes={each.node_id: (each.host, each.port) for each in answer.brokers},
        racks={each.node_id: each.rack for each in answer.brokers},
        topics={str(each.name): _topic_of(each, now_ms) for each in topics if each.error_code == ErrorCode.NONE},
        errors={str(each.name): code_of(each.error_code) for each in topics if each.error_code != ErrorCode.NONE},
    )


def _topic_of(answer: MetadataResponseTopic, now_ms: int) -> Topic:
    partitions = sorted(answer.partitions, key=lambda each: each.partition_index)
    return Topic(
        name=answer.name or "",
        topic_id=answer.topic_id,
        is_internal=answer.is_internal,
        partitions=tuple(
            Partition(
                index=each.partition_index,
                leader_id=each.leader_id,
                leader_epoch=each.leader_epoch,
                replicas=tuple(each.replica_nodes),
                isr=tuple(each.isr_nodes),
            )
            for each in partitions
        ),
        known_ms=now_ms,
    )
