"""Whether a Cluster works, from its partitions first and then from its pods: pods may all be ready and records out of reach."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.lost import lost, token_of
from millstream_operator.plan.partitions import PartitionStanding, Totals
from millstream_operator.plan.workload import Workload
from millstream_operator.resources.identity import SPEC_FIELDS

NAMED_MAX = 5


def readiness(
    workloads: Mapping[Role, Workload], spec: Mapping[str, Any], partitions: Sequence[PartitionStanding] | None
) -> Condition:
    """`partitions`: None where no broker answered."""
    offline = [each for each in partitions or () if each.is_offline]
    if offline:
        return Condition("Ready", False, "PartitionsOffline", _offline(offline) + _without_a_copy(lost(offline)))
    few = [each for each in partitions or () if each.is_under_min_isr]
    if few:
        message = f"{len(few)} partitions have too few replicas in sync to take records with acks=all: {_names(few)}"
        return Condition("Ready", False, "PartitionsUnderMinIsr", message)
    missing = _missing(workloads, spec)
    if missing:
        return Condition("Ready", False, "PodsNotReady", missing)
    if partitions is None:
        return Condition("Ready", None, "ClusterUnreachable", "every pod is ready, and no broker answers the operator")
    return Condition("Ready", True, "AllServed", "every partition has a leader and enough replicas, every pod is ready")


def _offline(offline: Sequence[PartitionStanding]) -> str:
    """Who had them last, and whom it concerns: groups and transactions wait for the internal ones."""
    last = Counter(broker for each in offline for broker in each.isr or each.may_lead or each.replicas)
    held = ", ".join(f"broker {broker} ({count})" for broker, count in sorted(last.items()))
    internal = Counter(each.topic for each in offline if each.is_internal)
    waiting = "".join(f"; {count} of them of {topic}" for topic, count in sorted(internal.items()))
    return f"{len(offline)} partitions have no leader: {_names(offline)}{waiting}; they were on {held}"


def _without_a_copy(gone: Sequence[PartitionStanding]) -> str:
    if not gone:
        return ""
    return f"; of {len(gone)} no copy is left: to begin them anew, empty, set spec.acceptLoss to {token_of(gone)}"


def _missing(workloads: Mapping[Role, Workload], spec: Mapping[str, Any]) -> str:
    missing, troubles = [], []
    for role in Role:
        wanted = int(spec[SPEC_FIELDS[role]]["replicas"])
        if workloads[role].ready < wanted:
            missing.append(f"{workloads[role].ready} of {wanted} {SPEC_FIELDS[role]}")
        troubles += [f"{pod.name}: {pod.trouble} ({pod.image})" for pod in workloads[role].pods if pod.trouble]
    return "; ".join(["ready so far: " + ", ".join(missing), *troubles[:NAMED_MAX]]) if missing else ""


def _names(partitions: Sequence[PartitionStanding]) -> str:
    named = ", ".join(each.name for each in partitions[:NAMED_MAX])
    return named + (", ..." if len(partitions) > NAMED_MAX else "")


def partition_fields(partitions: Sequence[PartitionStanding] | None) -> dict[str, Any]:
    """As the status shows them; what is not known is left as it was."""
    if partitions is None:
        return {}
    totals = Totals.of(partitions)
    return {
        "partitions": {
            "total": totals.total,
            "offline": totals.offline,
            "underReplicated": totals.under_replicated,
            "underMinIsr": totals.under_min_isr,
            "reassigning": totals.moving,
        }
    }
