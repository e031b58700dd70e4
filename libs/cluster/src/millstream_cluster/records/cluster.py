"""The cluster's own records: that it is there, and which controller appends to its log."""

from millstream_cluster.ids import ControllerEpoch, NodeId
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ClusterCreated:
    cluster_id: str


@dataclass(frozen=True, slots=True)
class ControllerElected:
    """This controller alone appends from here on; a higher epoch deposes it."""

    controller_id: NodeId
    epoch: ControllerEpoch
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ControllerResigned:
    """The controller of this epoch stops and appends no more: whoever stands by need not wait for its silence."""

    controller_id: NodeId
    epoch: ControllerEpoch
