"""Records of brokers and coordinators: that they came, are fenced or not, are forgotten."""

from enum import StrEnum
from uuid import UUID

from millstream_cluster.ids import NO_EPOCH, BrokerEpoch, NodeId
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a node takes connections, under the listener's name."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class FeatureRange:
    """The levels of a feature that a node's release supports, both included."""

    name: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class NodeRegistered:
    """A broker or coordinator came (again) and is fenced until it says it is ready.

    `incarnation_id` is a broker's disk, a coordinator's process: a new one under an old id has none of the old one's data.
    """

    node_id: NodeId
    epoch: BrokerEpoch
    incarnation_id: UUID
    listeners: tuple[Endpoint, ...]
    rack: str | None
    log_dirs: tuple[UUID, ...] = ()
    """A broker's directories that it can use, by their ids."""
    features: tuple[FeatureRange, ...] = ()
    """What the node can do of each feature; of metadata.version it knows the oldest level alone if this does not name it."""
    previous_epoch: BrokerEpoch = NO_EPOCH
    """The node's proof of a clean stop: the broker epoch of the life that ended so; NO_EPOCH without one."""


class FenceReason(StrEnum):
    """Why a node was fenced, as the controller that did it saw it; nothing is decided by it, people are told."""

    UNKNOWN = "UNKNOWN"
    """Written by release 0.1.0, or not said."""
    STOPPED = "STOPPED"
    """It asked for it, because it stops or is not ready."""
    SILENT = "SILENT"
    """Nothing was heard of it for the length of its session."""
    DIED = "DIED"
    """Its connection closed, and nobody listened at its port."""
    NO_DIRECTORY = "NO_DIRECTORY"
    """All of its directories had failed."""


@dataclass(frozen=True, slots=True)
class NodeFenced:
    """A node stopped, or fell silent; once more of one that is fenced already: since when it is away."""

    node_id: NodeId
    epoch: BrokerEpoch
    since_ms: int = 0
    """Since when the node is away, by the clock of the controller that wrote this; 0: not known yet, or not for long."""
    reason: FenceReason = FenceReason.UNKNOWN


@dataclass(frozen=True, slots=True)
class NodeUnfenced:
    node_id: NodeId
    epoch: BrokerEpoch


@dataclass(frozen=True, slots=True)
class FailedLogDir:
    """A directory that has replicas and cannot be used."""

    directory: UUID
    since_ms: int
    """By the clock of the controller that wrote this."""


@dataclass(frozen=True, slots=True)
class NodeLogDirsChanged:
    """Some of a broker's directories have failed while it runs; once more: since when they cannot be used."""

    node_id: NodeId
    epoch: BrokerEpoch
    log_dirs: tuple[UUID, ...]
    """Those that it can still use."""
    failed: tuple[FailedLogDir, ...]
    """Of the others those that cannot be used for longer than a moment."""


@dataclass(frozen=True, slots=True)
class NodeUnregistered:
    node_id: NodeId
    epoch: BrokerEpoch
