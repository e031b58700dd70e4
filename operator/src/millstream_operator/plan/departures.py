"""Which pods of a cluster may go, and when: for good, by an eviction, or to come back with another image.

- **A smaller number of brokers** is refused while one that would go holds partitions: shrinking first and asking later loses
  data. The brokers stay, and the Cluster's condition says which hold what. Controllers and coordinators hold nothing of their own.
- **An eviction** (a node that is drained) may have one pod of a role at a time.
- **A change of the pods** rolls through a role one pod after the other, each once the one before says `/readyz`.

Neither of the last two asks what a broker holds: a pod that comes back finds its volume, and until then what it leads is
without a leader. How it leaves (it hands leadership over and says so) is the process's own, and takes no longer than `LEAVING_S_MAX`.
"""

from collections.abc import Mapping

from millstream_cluster.ids import Role
from millstream_operator.plan.conditions import Condition
from millstream_operator.resources.identity import ClusterIdentity, Manifest

GONE_AT_ONCE_MAX = 1
LEAVING_S_MAX = 60
NAMED_BROKERS_MAX = 10


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


def disruption_budget(cluster: ClusterIdentity, role: Role) -> Manifest:
    """What evictions may take."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": cluster.metadata(cluster.service(role), role),
        "spec": {"maxUnavailable": GONE_AT_ONCE_MAX, "selector": {"matchLabels": cluster.labels(role)}},
    }


def roll() -> Manifest:
    """How a StatefulSet exchanges its pods: Kubernetes waits for each to be ready again by itself."""
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
