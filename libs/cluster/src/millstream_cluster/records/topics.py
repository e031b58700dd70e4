"""Records of topics and of who keeps their partitions."""

from enum import StrEnum
from uuid import UUID

from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_wire.late_dataclass import dataclass


class LeaderRecoveryState(StrEnum):
    """What is known of the records of a partition's leader (KIP-704)."""

    RECOVERED = "RECOVERED"
    RECOVERING = "RECOVERING"


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
    adding_replicas: tuple[NodeId, ...] = ()
    """Replicas that a reassignment brings in; they are part of `replicas`."""
    removing_replicas: tuple[NodeId, ...] = ()
    """Replicas that leave when the reassignment is complete; they are part of `replicas`."""
    eligible_leader_replicas: tuple[NodeId, ...] = ()
    """Out of the ISR, but with everything below the high watermark: one of them may lead without losing anything."""
    last_known_elr: tuple[NodeId, ...] = ()
    """Whom the ELR lost by an unclean stop; where the ISR is empty, the last leader alone, the best copy if the ELR is empty too."""
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    """RECOVERING: the leader was elected uncleanly and may have lost records."""
    directories: tuple[UUID, ...] = ()
    """Where each of `replicas`, in their order, is kept; empty: in its broker's only directory."""


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
    adding_replicas: tuple[NodeId, ...] = ()
    """Replicas that a reassignment brings in; they are part of `replicas`."""
    removing_replicas: tuple[NodeId, ...] = ()
    """Replicas that leave when the reassignment is complete; they are part of `replicas`."""
    eligible_leader_replicas: tuple[NodeId, ...] = ()
    """Out of the ISR, but with everything below the high watermark: one of them may lead without losing anything."""
    last_known_elr: tuple[NodeId, ...] = ()
    """Whom the ELR lost by an unclean stop; where the ISR is empty, the last leader alone, the best copy if the ELR is empty too."""
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    """RECOVERING: the leader was elected uncleanly and may have lost records."""
    directories: tuple[UUID, ...] = ()
    """Where each of `replicas`, in their order, is kept; empty: in its broker's only directory."""


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """The topic's data may be removed; its configs and shards are gone with it."""

    topic_id: UUID
