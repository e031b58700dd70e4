"""A change of the pods: which one is made anew next, and what is waited for.

The StatefulSets exchange no pod by themselves (`OnDelete`): one pod of the whole cluster at a time is deleted here, and comes back from the
new template. A plan is made anew at each look, from what is there: it may be stopped after any step and repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_cluster.ids import Role
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.departures import endangered
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.workload import Pod, Workload

ORDER = (Role.CONTROLLER, Role.COORDINATOR, Role.BROKER)
NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Roll:
    """What a look at the pods leads to."""

    replace: Pod | None
    """The pod to be deleted now."""
    condition: Condition


def plan_roll(
    workloads: Mapping[Role, Workload], partitions: Sequence[PartitionStanding] | None, noted_uid: str | None
) -> Roll:
    """`noted_uid`: the pod that a look before this one decided to delete; until it is gone nobody may choose another one."""
    pods = [pod for role in ORDER for pod in workloads[role].pods]
    outdated = [pod for pod in pods if pod.is_outdated]
    unobserved = [role.value for role in ORDER if not workloads[role].is_observed]
    if unobserved:
        return Roll(None, _rolling(f"Kubernetes has not seen the new pods of {', '.join(unobserved)} yet"))
    if not outdated:
        return Roll(None, Condition("Progressing", False, "UpToDate", "every pod is as the Cluster says"))
    noted = [pod for pod in outdated if pod.uid == noted_uid]
    return _next(noted or _in_order(outdated, workloads), workloads, partitions, len(outdated))


def is_changing(workloads: Mapping[Role, Workload]) -> bool:
    """Whether pods are to be exchanged, or it is not known yet."""
    return any(not each.is_observed or any(pod.is_outdated for pod in each.pods) for each in workloads.values())


def _in_order(outdated: Sequence[Pod], workloads: Mapping[Role, Workload]) -> list[Pod]:
    """Those that do not work first: exchanging them takes nothing from anybody, and may be what mends the cluster.

    While any other pod is away, or on its way back, only they may go.
    """
    broken = [pod for pod in outdated if not pod.is_running and not pod.is_leaving]
    if broken:
        return broken
    unready = [pod for pod in outdated if not pod.is_ready and not pod.is_leaving]
    if unready:
        return unready
    if all(workload.is_whole for workload in workloads.values()):
        role = next(role for role in ORDER if any(pod.role is role for pod in outdated))
        return [pod for pod in reversed(outdated) if pod.role is role]
    return []


def _next(
    candidates: Sequence[Pod],
    workloads: Mapping[Role, Workload],
    partitions: Sequence[PartitionStanding] | None,
    left: int,
) -> Roll:
    blocked = ""
    for pod in candidates:
        if pod.is_leaving:
            return Roll(None, _rolling(f"{pod.name} ends; {left} pods to go"))
        blocked = _why_not(pod, partitions)
        if not blocked:
            return Roll(pod, _rolling(f"{pod.name} is made anew; {left} pods to go"))
    if blocked:
        return Roll(None, Condition("Progressing", False, "RollBlocked", blocked))
    return Roll(None, _waiting(workloads, left))


def _why_not(pod: Pod, partitions: Sequence[PartitionStanding] | None) -> str:
    if pod.role is not Role.BROKER or not pod.is_running:
        return ""
    if partitions is None:
        return f"{pod.name} stays: no broker answers what is in sync"
    forbidding = endangered(partitions, pod.ordinal)
    if not forbidding:
        return ""
    named = ", ".join(f"{each.name} (in sync: {_brokers(each.isr)})" for each in forbidding[:NAMED_MAX])
    more = f" and {len(forbidding) - NAMED_MAX} more" if len(forbidding) > NAMED_MAX else ""
    return f"{pod.name} stays: too few would be in sync of {named}{more}"


def _waiting(workloads: Mapping[Role, Workload], left: int) -> Condition:
    """For whom: a pod of the new template that does not start ends the roll there, and is named with its image."""
    for role in ORDER:
        for pod in workloads[role].pods:
            if pod.trouble and not pod.is_outdated:
                message = f"{pod.name} does not start: {pod.trouble}, image {pod.image}; {left} pods stay as they are"
                return Condition("Progressing", False, "PodDoesNotStart", message)
    away = [pod.name for role in ORDER for pod in workloads[role].pods if not pod.is_ready]
    missing = [role.value for role in ORDER if len(workloads[role].pods) < workloads[role].replicas]
    awaited = [*away, *(f"a {role}" for role in missing)]
    return _rolling(f"waiting for {', '.join(awaited[:NAMED_MAX])}; {left} pods to go")


def _rolling(message: str) -> Condition:
    return Condition("Progressing", True, "Rolling", message)


def _brokers(isr: Sequence[int]) -> str:
    return "+".join(str(node) for node in isr) or "none"
