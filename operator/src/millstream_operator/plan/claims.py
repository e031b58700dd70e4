"""The brokers' volume claims: whether one may be released, and whether they can be as large as the Cluster says.

A claim is deleted where a person names it (`spec.brokers.releaseClaims`) because its node or disk will not come back, and only while nothing can be
lost by it: its pod does not run or has been told to go, everything else is well, and every partition that the broker has is kept by enough others. Without
an answer about partitions nothing is released.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.roll import is_changing
from millstream_operator.plan.workload import Workload

CLAIM_NAME = re.compile(r"^data-(?P<pod>.+)-(?P<ordinal>\d+)$")
QUANTITY = re.compile(r"^(?P<number>\d+(?:\.\d+)?)(?P<unit>k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$")
DECIMAL = {unit: 1000 ** (place + 1) for place, unit in enumerate("kMGTP")}
BINARY = {f"{unit}i": 1024 ** (place + 1) for place, unit in enumerate("KMGTP")}
NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Claim:
    broker: int
    name: str
    uid: str
    size: str
    """As it is asked for."""
    is_leaving: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """What becomes of a claim that a person gave up; `blocked`: why it stays for now."""

    claim: Claim
    blocked: str = ""


@dataclass(frozen=True, slots=True)
class Storage:
    """What a change of the brokers' volumes leads to."""

    grow: tuple[Claim, ...] = ()
    rebuild: bool = False
    """Whether the StatefulSet is made anew around its pods, so that brokers to come have the new size too."""
    refusal: str = ""


def has_claims_to_change(brokers: Mapping[str, Any], workload: Workload) -> bool:
    """Whether the claims have to be looked at; at rest they need not. `brokers`: as the Cluster has them."""
    kept, storage = kept_storage(workload), brokers["storage"]
    changed = bool(kept) and any(storage.get(key, kept.get(key)) != kept.get(key) for key in ("size", "className"))
    return changed or bool(brokers.get("releaseClaims"))


def claims_of(service: str, found: Sequence[Mapping[str, Any]]) -> tuple[Claim, ...]:
    """`service`: of the brokers, whose pods' names begin so."""
    claims = []
    for each in found:
        metadata = each["metadata"]
        match = CLAIM_NAME.match(metadata["name"])
        if match is not None and match["pod"] == service:
            size = each["spec"]["resources"]["requests"]["storage"]
            is_leaving = bool(metadata.get("deletionTimestamp"))
            claims.append(Claim(int(match["ordinal"]), metadata["name"], metadata["uid"], size, is_leaving))
    return tuple(sorted(claims, key=lambda claim: claim.broker))


def plan_release(
    given_up: Sequence[str],
    claims: Sequence[Claim],
    workloads: Mapping[Role, Workload],
    partitions: Sequence[PartitionStanding] | None,
) -> list[Release]:
    """`given_up`: uids, so that a claim that was made since is none of them. One at a time may go."""
    named = [claim for claim in claims if claim.uid in given_up and not claim.is_leaving]
    under_way = any(claim.is_leaving for claim in claims)
    releases = []
    for claim in named:
        blocked = "another claim is being released" if under_way else _why_not(claim, workloads, partitions)
        releases.append(Release(claim, blocked))
        under_way = under_way or not blocked
    return releases


def _why_not(claim: Claim, workloads: Mapping[Role, Workload], partitions: Sequence[PartitionStanding] | None) -> str:
    pods = workloads[Role.BROKER].pods
    if any(pod.ordinal == claim.broker and (pod.is_ready or (pod.is_running and not pod.is_leaving)) for pod in pods):
        return f"broker {claim.broker} runs with it"
    others = [pod.name for pod in pods if pod.ordinal != claim.broker and not pod.is_ready]
    if others:
        return f"{', '.join(others[:NAMED_MAX])} are away too"
    if is_changing(workloads):
        return "pods are being exchanged"
    if partitions is None:
        return "no broker answers who else has its partitions"
    needed = [each for each in partitions if claim.broker in each.replicas and not _is_kept(each, claim.broker)]
    if needed:
        named = ", ".join(each.name for each in needed[:NAMED_MAX])
        return f"{len(needed)} partitions are not kept by enough others: {named}"
    return ""


def _is_kept(partition: PartitionStanding, broker: int) -> bool:
    """Whether others have all of it: a leader, and as many in sync as its minimum, or as there may be without this one."""
    others = [node for node in partition.isr if node != broker]
    return not partition.is_offline and len(others) >= max(partition.in_sync_to_keep, 1)


def plan_storage(spec: Mapping[str, Any], workload: Workload, claims: Sequence[Claim]) -> Storage:
    """`spec`: storage as the Cluster has it. What cannot be is said in words, and holds nothing else up."""
    kept = kept_storage(workload)
    if not kept:
        return Storage()
    wanted, has = spec.get("className"), kept.get("className")
    if wanted and wanted != has:
        return Storage(
            refusal=f"storage.className is {wanted} and the brokers' volumes are of {has or 'the default'}: it cannot be changed"
        )
    size, before = bytes_of(spec["size"]), bytes_of(kept["size"])
    if size < before:
        return Storage(
            refusal=f"storage.size is {spec['size']} and the brokers' volumes have {kept['size']}: they cannot become smaller"
        )
    if size == before:
        return Storage()
    small = tuple(claim for claim in claims if bytes_of(claim.size) < size and not claim.is_leaving)
    return Storage(grow=small, rebuild=not small and workload.is_whole)


def kept_storage(workload: Workload) -> dict[str, str]:
    """Size and class that the StatefulSet has, which Kubernetes lets nobody change; empty where there is none."""
    if not workload.volume_claim_templates:
        return {}
    [template] = workload.volume_claim_templates
    spec = template["spec"]
    kept = {"size": spec["resources"]["requests"]["storage"]}
    return kept | ({"className": spec["storageClassName"]} if spec.get("storageClassName") else {})


def bytes_of(quantity: str) -> int:
    """Of a quantity as the chart's schema allows them. Raises ValueError."""
    match = QUANTITY.match(quantity)
    if match is None:
        raise ValueError(f"{quantity} is no size")
    unit = match["unit"]
    return int(float(match["number"]) * ((DECIMAL | BINARY)[unit] if unit else 1))
