"""The brokers' volume claims: released where a person gave one up and nothing can be lost, grown where the Cluster asks for more."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.kube import claims
from millstream_operator.kube.events import Event
from millstream_operator.kube.objects import KubernetesError
from millstream_operator.plan.claims import Claim, Release, claims_of, plan_release, plan_storage
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.scope import Body
from millstream_operator.plan.workload import Workload
from millstream_operator.reconcile.resource import Surroundings, tell
from millstream_operator.resources.identity import ClusterIdentity

logger = logging.getLogger(__name__)


class Claims:
    def __init__(self, around: Surroundings) -> None:
        self._around = around

    async def look(self, body: Body) -> tuple[Claim, ...]:
        cluster = ClusterIdentity.of(body)
        labels = ",".join(f"{key}={value}" for key, value in cluster.labels(Role.BROKER).items())
        found = await claims.list_claims(self._around.objects, cluster.namespace, labels)
        return claims_of(cluster.service(Role.BROKER), found)

    async def release(
        self,
        body: Body,
        found: Sequence[Claim],
        workloads: Mapping[Role, Workload],
        partitions: Sequence[PartitionStanding] | None,
    ) -> list[dict[str, Any]]:
        """What the status says about those that are given up and still there."""
        given_up = body["spec"]["brokers"].get("releaseClaims") or ()
        releases = plan_release(given_up, found, workloads, partitions)
        for each in releases:
            if not each.blocked:
                await self._release(body, each.claim, workloads[Role.BROKER])
        return [_field(each) for each in releases]

    async def _release(self, body: Body, claim: Claim, brokers: Workload) -> None:
        """The claim, and then the pod that waits for it: Kubernetes makes both anew."""
        objects, namespace = self._around.objects, body["metadata"]["namespace"]
        message = f"{claim.name} of broker {claim.broker} was given up, and all that it had is kept by others"
        await tell(self._around, "Cluster", body, Event("ClaimReleased", message, is_warning=True))
        await claims.release(objects, namespace, claim)
        logger.warning("claim released namespace=%s claim=%s uid=%s", namespace, claim.name, claim.uid)
        for pod in brokers.pods:
            if pod.ordinal == claim.broker:
                await objects.delete("v1", "Pod", namespace, pod.name, "Background", uid=pod.uid)

    async def resize(self, body: Body, found: Sequence[Claim], brokers: Workload) -> Condition | None:
        """Why the volumes are not as the Cluster says, if they cannot be."""
        storage, namespace = body["spec"]["brokers"]["storage"], body["metadata"]["namespace"]
        try:
            plan = plan_storage(storage, brokers, found)
        except ValueError as error:
            return _not_changed(str(error))
        for claim in plan.grow:
            try:
                await claims.grow(self._around.objects, namespace, claim, storage["size"])
            except KubernetesError as error:
                return _not_changed(f"{claim.name} cannot grow to {storage['size']}: {error}")
            message = f"{claim.name} is asked to grow to {storage['size']}"
            await tell(self._around, "Cluster", body, Event("ClaimGrown", message))
        if plan.rebuild:
            name = ClusterIdentity.of(body).service(Role.BROKER)
            await self._around.objects.delete("apps/v1", "StatefulSet", namespace, name, "Orphan")
            logger.info("stateful set made anew around its pods namespace=%s name=%s", namespace, name)
        return _not_changed(plan.refusal) if plan.refusal else None


def _not_changed(message: str) -> Condition:
    return Condition("Progressing", False, "StorageNotChanged", message)


def _field(release: Release) -> dict[str, Any]:
    claim = release.claim
    return {"claim": claim.name, "uid": claim.uid, "broker": claim.broker, "blocked": release.blocked}
