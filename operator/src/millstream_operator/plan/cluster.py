"""What a Cluster resource leads to: the objects it owns, and what its status says. Which pods may go is decided in `departures`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.departures import LEAVING_S_MAX, disruption_budget, refuse_fewer_brokers, roll
from millstream_operator.resources.access import (
    bootstrap_service,
    headless_service,
    metadata_store_access,
    service_account,
)
from millstream_operator.resources.external import external_services
from millstream_operator.resources.identity import ClusterIdentity, Manifest
from millstream_operator.resources.network_policy import network_policies
from millstream_operator.resources.stateful_set import SPEC_FIELDS, stateful_set


@dataclass(frozen=True, slots=True)
class Pods:
    """One role's StatefulSet as it is: how many pods were asked for, and how many of them are ready."""

    replicas: int = 0
    ready: int = 0


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    manifests: tuple[Manifest, ...]
    refusal: Condition | None


def shrinks(spec: Mapping[str, Any], brokers: Pods) -> bool:
    return int(spec["brokers"]["replicas"]) < brokers.replicas


def plan_cluster(
    cluster: ClusterIdentity,
    spec: Mapping[str, Any],
    brokers: Pods,
    partitions_held: Mapping[int, int] | None,
    *,
    operator_namespace: str,
) -> ClusterPlan:
    """`partitions_held` counts the partitions of each broker; None means that it could not be found out."""
    replicas = int(spec["brokers"]["replicas"])
    refusal = refuse_fewer_brokers(replicas, brokers.replicas, partitions_held)
    if refusal is not None:
        replicas = brokers.replicas
    manifests: list[Manifest] = [*metadata_store_access(cluster), bootstrap_service(cluster, spec)]
    counts = {role: int(spec[SPEC_FIELDS[role]]["replicas"]) for role in Role} | {Role.BROKER: replicas}
    for role, count in counts.items():
        manifests += [
            service_account(cluster, role),
            headless_service(cluster, spec, role),
            disruption_budget(cluster, role),
            stateful_set(cluster, spec, role, count, roll=roll(), leaving_s_max=LEAVING_S_MAX),
        ]
    manifests += external_services(cluster, spec, counts)
    manifests += network_policies(cluster, spec, operator_namespace)
    return ClusterPlan(manifests=tuple(manifests), refusal=refusal)


def superfluous(plan: ClusterPlan, kind: str, found: Sequence[Mapping[str, Any]], uid: str) -> list[str]:
    """The names of what this Cluster made of a kind that can be asked away, and now is."""
    wanted = {manifest["metadata"]["name"] for manifest in plan.manifests if manifest["kind"] == kind}
    return [
        each["metadata"]["name"]
        for each in found
        if each["metadata"]["name"] not in wanted
        and any(owner.get("uid") == uid for owner in each["metadata"].get("ownerReferences") or ())
    ]


def readiness(pods: Mapping[Role, Pods], spec: Mapping[str, Any], refusal: Condition | None) -> Condition:
    """Ready when every pod that was asked for is."""
    if refusal is not None:
        return refusal
    missing = []
    for role in Role:
        wanted = int(spec[SPEC_FIELDS[role]]["replicas"])
        ready = pods[role].ready
        if ready < wanted:
            missing.append(f"{ready} of {wanted} {SPEC_FIELDS[role]}")
    if missing:
        return Condition("Ready", False, "PodsNotReady", "ready so far: " + ", ".join(missing))
    return Condition("Ready", True, "AllPodsReady", "every pod is ready")
