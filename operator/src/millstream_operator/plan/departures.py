"""Which pods of a cluster may go, and when: for good, by an eviction, or to come back made anew.

- **A broker goes by intent** only where every partition keeps as many replicas in sync as its minimum asks for. Where the
  factor leaves none to spare (one replica, say) a partition keeps what one broker's absence leaves it.
- **A smaller number of brokers** is refused while one that would go holds partitions: shrinking first and asking later loses
  data. The brokers stay, and the Cluster's condition says which hold what. Controllers and coordinators hold nothing of their own.
- **An eviction** (a node that is drained) may have one pod of a role at a time, and a broker only while each of them may go. While pods of a
  role are exchanged none may be evicted. A pod that is not ready may always be: it keeps nothing up.

How a pod leaves (it hands leadership over and says so) is the process's own, and takes no longer than `LEAVING_S_MAX`.
"""

from collections.abc import Mapping, Sequence

from millstream_cluster.ids import Role
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.workload import Workload
from millstream_operator.resources.identity import ClusterIdentity, Manifest

LEAVING_S_MAX = 60
NAMED_BROKERS_MAX = 10


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


def refuse_fewer_brokers(wanted: int, current: int, partitions_held: Mapping[int, int] | None) -> Condition | None:
    """Why the brokers from `wanted` on have to stay; None if they may go."""
    if wanted >= current:
        return None
    if partitions_held is None:
        return Condition("Ready", False, "ScaleDownBlocked", "cannot tell which partitions the brokers hold")
    holding = [broker for broker in range(wanted, current) if partitions_held.get(broker)]
    if not holding:
        return None
    named = ", ".join(f"broker-{broker} holds {partitions_held[broker]}" for broker in holding[:NAMED_BROKERS_MAX])
    return Condition("Ready", False, "ScaleDownBlocked", f"partitions would be lost: {named}")


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
