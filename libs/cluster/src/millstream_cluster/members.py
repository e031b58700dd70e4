"""What an Image consists of: nodes, topics, partitions and shards, as values that readers may keep."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import (
    NO_NODE,
    UNASSIGNED_DIRECTORY,
    BrokerEpoch,
    LeaderEpoch,
    NodeId,
    Offset,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
    Role,
    role_of,
)
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A registered broker or coordinator; only an unfenced one is alive to clients."""

    node_id: NodeId
    epoch: BrokerEpoch
    incarnation_id: UUID
    listeners: tuple[r.Endpoint, ...]
    rack: str | None
    log_dirs: tuple[UUID, ...]
    features: tuple[r.FeatureRange, ...]
    previous_epoch: BrokerEpoch
    fenced: bool
    fenced_offset: Offset = field(compare=False)
    """Where the record of its latest fencing is, a registration included: who has not applied it acts on what was before.

    After a snapshot it is the snapshot's end: never earlier than that record. So it is no part of what makes two nodes equal.
    """
    away_since_ms: int = 0
    """While it is fenced: since when, by a controller's clock; 0: nobody has written it down. Registering does not change it."""
    failed_log_dirs: tuple[r.FailedLogDir, ...] = ()
    """Directories that it cannot use, as far as somebody has written down since when. Registering with one takes it out."""

    @staticmethod
    def registered(record: r.NodeRegistered, offset: Offset, before: "Node | None" = None) -> "Node":
        return Node(
            record.node_id,
            record.epoch,
            record.incarnation_id,
            record.listeners,
            record.rack,
            record.log_dirs,
            record.features,
            record.previous_epoch,
            fenced=True,
            fenced_offset=offset,
            away_since_ms=0 if before is None else before.away_since_ms,
            failed_log_dirs=()
            if before is None
            else tuple([each for each in before.failed_log_dirs if each.directory not in record.log_dirs]),
        )

    def registration(self) -> r.NodeRegistered:
        """The record that this node came with."""
        return r.NodeRegistered(
            self.node_id,
            self.epoch,
            self.incarnation_id,
            self.listeners,
            self.rack,
            self.log_dirs,
            self.features,
            self.previous_epoch,
        )

    @property
    def role(self) -> Role:
        return role_of(self.node_id)

    def fenced_at(self, offset: Offset, away_since_ms: int = 0) -> "Node":
        """Of a node that is fenced already nothing else changes: it need not apply this to be let in."""
        fenced_offset = self.fenced_offset if self.fenced else offset
        return replace(self, fenced=True, fenced_offset=fenced_offset, away_since_ms=away_since_ms)

    def unfenced(self) -> "Node":
        return replace(self, fenced=False, away_since_ms=0)

    def has_directory(self, directory: UUID) -> bool:
        """Whether a replica of this node that is kept there can be used; of an older release it is not known which there are."""
        return directory == UNASSIGNED_DIRECTORY or not self.log_dirs or directory in self.log_dirs

    def endpoint(self, listener_name: str) -> r.Endpoint | None:
        """Where clients of this listener reach the node; without one of that name, its first."""
        for endpoint in self.listeners:
            if endpoint.name == listener_name:
                return endpoint
        return self.listeners[0] if self.listeners else None


@dataclass(frozen=True, slots=True)
class Partition:
    """Who keeps a partition, as its last record says (`PartitionCreated` has what each field means).

    An empty ISR means that no in-sync copy exists any more: it stays without a leader.
    """

    topic: str
    topic_id: UUID
    partition: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    leader: NodeId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    adding_replicas: tuple[NodeId, ...]
    removing_replicas: tuple[NodeId, ...]
    eligible_leader_replicas: tuple[NodeId, ...]
    last_known_elr: tuple[NodeId, ...]
    leader_recovery_state: r.LeaderRecoveryState
    directories: tuple[UUID, ...]

    @staticmethod
    def of(record: r.PartitionCreated | r.PartitionChanged, topic: str) -> "Partition":
        return Partition(topic, *_partition_fields(record))

    def created(self) -> r.PartitionCreated:
        return r.PartitionCreated(*_partition_fields(self))

    def changed(self, **state: Any) -> r.PartitionChanged:
        """The record of this partition's next state: these fields anew, the rest as it is. What may follow what the controller says."""
        epoch = PartitionEpoch(self.partition_epoch + 1)
        return r.PartitionChanged(*_partition_fields(replace(self, **state, partition_epoch=epoch)))

    @property
    def online(self) -> bool:
        return self.leader != NO_NODE

    def directory_of(self, node_id: int) -> UUID:
        """Where this broker, which has a replica, keeps it."""
        return self.directories[self.replicas.index(NodeId(node_id))] if self.directories else UNASSIGNED_DIRECTORY

    def is_usable_at(self, node: Node) -> bool:
        """Whether the directory of this node's replica has not failed; whether the node is fenced is another question."""
        return not self.directories or node.has_directory(self.directory_of(node.node_id))


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its partitions in order; the sequence is the Image's own and shows later changes."""

    name: str
    topic_id: UUID
    internal: bool
    partitions: Sequence[Partition]


@dataclass(frozen=True, slots=True)
class Shard:
    """A coordinator topic's partition, its owner (NO_NODE: none yet) and what the owner writes with."""

    topic_id: UUID
    partition: int
    coordinator_id: NodeId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch

    @staticmethod
    def of(record: r.ShardAssigned) -> "Shard":
        return Shard(
            record.topic_id, record.partition, record.coordinator_id, record.producer_id, record.producer_epoch
        )

    def assigned(self) -> r.ShardAssigned:
        return r.ShardAssigned(
            self.topic_id, self.partition, self.coordinator_id, self.producer_id, self.producer_epoch
        )


def _partition_fields(value: Any) -> tuple[Any, ...]:
    return (
        value.topic_id,
        value.partition,
        value.replicas,
        value.isr,
        value.leader,
        value.leader_epoch,
        value.partition_epoch,
        value.adding_replicas,
        value.removing_replicas,
        value.eligible_leader_replicas,
        value.last_known_elr,
        value.leader_recovery_state,
        value.directories,
    )
