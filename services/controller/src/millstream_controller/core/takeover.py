"""The first decision of an active controller, and the last: it names itself under a higher epoch, and says that it stops.

Nothing may be decided before the first is committed: from then on the append of every earlier controller fails.
"""

from collections.abc import Sequence

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.features import CLIENT_FEATURES
from millstream_cluster.ids import ControllerEpoch, NodeId, ProducerId
from millstream_cluster.metadata_version import NEWEST
from millstream_controller.core.machine import ControllerMachine
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class NewCluster:
    """What a cluster begins with, should there be none yet."""

    cluster_id: str
    logins: Sequence[r.MetadataRecord] = ()
    """The credentials of those who log in first: who has none cannot make any."""


class WrongCluster(Exception):
    """The store holds another cluster than the one this controller is meant for."""


def take_over(
    machine: ControllerMachine,
    controller_id: int,
    *,
    host: str,
    port: int,
    cluster_id: str | None,
    new_cluster: NewCluster,
) -> Decision[r.MetadataRecord, ControllerEpoch]:
    """`cluster_id` is the one that must be (None: any); `new_cluster`: one that is created now, at the newest levels."""
    image = machine.image
    if image.cluster_id is not None and cluster_id not in (None, image.cluster_id):
        raise WrongCluster(f"the metadata log is of cluster {image.cluster_id}, cluster.id says {cluster_id}")
    epoch = ControllerEpoch(image.controller.epoch + 1 if image.controller is not None else 1)
    elected = r.ControllerElected(NodeId(controller_id), epoch, host, port)
    if image.cluster_id is not None:
        return Decision((elected,), epoch)
    created = r.ClusterCreated(cluster_id or new_cluster.cluster_id)
    # A later release finds the levels in the log and leaves them as they are.
    levels = (r.FeatureLevelSet(name, most) for name, (_, most) in CLIENT_FEATURES.items())
    return Decision((r.MetadataVersionSet(NEWEST), created, elected, *levels, *new_cluster.logins), epoch)


def prove_active(machine: ControllerMachine) -> Decision[r.MetadataRecord, None]:
    """A record that changes nothing: only the active controller's append succeeds."""
    return Decision((r.ProducerIdsAllocated(ProducerId(machine.image.next_producer_id + 1)),), None)


def resign(machine: ControllerMachine) -> Decision[r.MetadataRecord, None]:
    """Make way for a standby at once; only a controller that decides nothing afterwards may."""
    elected = machine.image.controller
    assert elected is not None, "only an elected controller can resign"
    return Decision((r.ControllerResigned(elected.controller_id, elected.epoch),), None)
