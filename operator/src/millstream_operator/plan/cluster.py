"""What a Cluster resource leads to: the objects it owns. Which pods may go is decided in `departures`, how many brokers there are in `scale`, what the status says in `health`."""

from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.claims import kept_storage
from millstream_operator.plan.departures import (
    LEAVING_S_MAX,
    disruption_budget,
    evictions_allowed,
)
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.workload import Workload
from millstream_operator.resources.access import (
    bootstrap_service,
    headless_service,
    metadata_store_access,
    service_account,
)
from millstream_operator.resources.external import external_manifests
from millstream_operator.resources.identity import SPEC_FIELDS, ClusterIdentity, Manifest
from millstream_operator.resources.network_policy import network_policies
from millstream_operator.resources.stateful_set import stateful_set


def plan_cluster(
    cluster: ClusterIdentity,
    spec: Mapping[str, Any],
    workloads: Mapping[Role, Workload],
    partitions: Sequence[PartitionStanding] | None,
    *,
    brokers: int,
    operator_namespace: str,
) -> tuple[Manifest, ...]:
    """`partitions`: None where no broker answered. `brokers`: how many pods of them there shall be now (`scale`)."""
    manifests: list[Manifest] = [*metadata_store_access(cluster), bootstrap_service(cluster, spec)]
    counts = pods_wanted(spec, brokers)
    # Before the pods that read what is in them.
    manifests += external_manifests(cluster, spec, counts)
    for role, count in counts.items():
        workload = workloads[role]
        manifests += [
            service_account(cluster, role),
            headless_service(cluster, spec, role),
            disruption_budget(cluster, role, evictions_allowed(role, workload, partitions)),
            stateful_set(cluster, spec, role, count, leaving_s_max=LEAVING_S_MAX, storage_kept=kept_storage(workload)),
        ]
    manifests += network_policies(cluster, spec, operator_namespace)
    return tuple(manifests)


def pods_wanted(spec: Mapping[str, Any], brokers: int) -> dict[Role, int]:
    """`brokers`: how many there shall be now."""
    return {role: int(spec[SPEC_FIELDS[role]]["replicas"]) for role in Role} | {Role.BROKER: brokers}


def superfluous(manifests: Sequence[Manifest], kind: str, found: Sequence[Mapping[str, Any]], uid: str) -> list[str]:
    """The names of what this Cluster made of a kind that can be asked away, and now is."""
    wanted = {manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == kind}
    return [
        each["metadata"]["name"]
        for each in found
        if each["metadata"]["name"] not in wanted
        and any(owner.get("uid") == uid for owner in each["metadata"].get("ownerReferences") or ())
    ]
