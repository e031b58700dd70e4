"""Which pods of a cluster may go, and when: for good, by an eviction, or to come back made anew.

- **A broker goes by intent** only where every partition keeps as many replicas in sync as its minimum asks for. Where the
  factor leaves none to spare (one replica, say) a partition keeps what one broker's absence leaves it.
- **For good** a broker goes once it holds nothing any more (`scale`). Controllers and coordinators hold nothing of their own.
- **An eviction** (a node that is drained) may have one pod of a role at a time, and a broker only while each of them may go. While pods of a
  role are exchanged none may be evicted. A pod that is not ready may always be: it keeps nothing up.

How a pod leaves (it hands leadership over and says so) is the process's own, and takes no longer than `LEAVING_S_MAX`.
"""

from collections.abc import Sequence

from millstream_cluster.ids import Role
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.workload import Workload
from millstream_operator.resources.identity import ClusterIdentity, Manifest

LEAVING_S_MAX = 60


def endangered(partitions: Sequence[PartitionStanding], broker: int) -> list[PartitionStanding]:
    """The partitions that forbid this broker to go. One that is offline loses nothing by it."""
    return [
        each
        for each in partitions
        if broker in each.isr and not each.is_offline and len(each.isr) - 1 < each.in_sync_to_keep
    ]


def evictions_allowed(role: Role, workload: Workload, partitions: Sequence[PartitionStanding] | None) -> int:
    """How many pods of a role may be away by evictions. `partitions`: None where nobody could be asked."""
    if not workload.is_observed or any(pod.is_outdated for pod in workload.pods):
        return 0
    if role is not Role.BROKER:
        return 1
    if partitions is None:
        return 0
    at_minimum = (each for each in partitions if not each.is_offline and len(each.isr) - 1 < each.in_sync_to_keep)
    return 0 if any(at_minimum) else 1


def disruption_budget(cluster: ClusterIdentity, role: Role, away_max: int) -> Manifest:
    """What evictions may take."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": cluster.metadata(cluster.service(role), role),
        "spec": {
            "maxUnavailable": away_max,
            "selector": {"matchLabels": cluster.labels(role)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
