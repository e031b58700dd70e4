"""Records of topics and of who keeps their partitions."""

from dataclasses import dataclass
from uuid import UUID

from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch


@dataclass(frozen=True, slots=True)
class TopicCreated:
    name: str
    topic_id: UUID
    internal: bool


@dataclass(frozen=True, slots=True)
class PartitionCreated:
    """The next partition of its topic: partitions are created in order, starting with 0."""

    topic_id: UUID
    partition: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    leader: NodeId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch


@dataclass(frozen=True, slots=True)
class PartitionChanged:
    """The whole new state of a partition; `partition_epoch` is one more than before."""

    topic_id: UUID
    partition: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    leader: NodeId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """The topic's data may be removed; its configs and shards are gone with it."""

    topic_id: UUID
