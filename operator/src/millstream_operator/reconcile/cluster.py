"""Clusters: apply what a Cluster owns, and say how many of its pods are ready."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.certificates.authority import BadAuthority
from millstream_operator.kafka.cluster import ClusterUnreachable
from millstream_operator.kafka.topics import partitions_held
from millstream_operator.kube.objects import KubernetesError
from millstream_operator.plan.cluster import ClusterPlan, Pods, plan_cluster, readiness, shrinks, superfluous
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.scope import Body
from millstream_operator.reconcile.resource import Surroundings, Turns, parse_bootstrap, write_status
from millstream_operator.resources.identity import CLUSTER_LABEL, ClusterIdentity
from millstream_operator.resources.listeners import is_secured

logger = logging.getLogger(__name__)

PRUNED = (("networking.k8s.io/v1", "NetworkPolicy"), ("v1", "Service"))
"""What a Cluster may cease to ask for."""


class ClusterReconciler:
    kind = "Cluster"

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._turns = Turns()

    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> None:
        async with self._turns.of(body):
            if body["metadata"].get("deletionTimestamp"):
                return
            cluster, spec = ClusterIdentity.of(body), body["spec"]
            before = await self._pods(cluster)
            held = await self._partitions_held(body) if shrinks(spec, before[Role.BROKER]) else None
            plan = plan_cluster(
                cluster, spec, before[Role.BROKER], held, operator_namespace=self._around.operator_namespace
            )
            try:
                if is_secured(spec):
                    await self._around.certificates.reconcile(body)
                await self._around.objects.apply(plan.manifests)
                await self._prune(cluster, plan)
            except (KubernetesError, BadAuthority) as error:
                reason = "ApplyFailed" if isinstance(error, KubernetesError) else "BadAuthority"
                condition = Condition("Ready", False, reason, str(error))
                await write_status(self._around, self.kind, body, {}, condition)
                return
            pods = await self._pods(cluster)
            condition = readiness(pods, spec, plan.refusal)
            await write_status(self._around, self.kind, body, self._fields(cluster, pods), condition)

    async def _prune(self, cluster: ClusterIdentity, plan: ClusterPlan) -> None:
        objects, namespace = self._around.objects, cluster.namespace
        label = f"{CLUSTER_LABEL}={cluster.name}"
        for api_version, kind in PRUNED:
            found = await objects.list(api_version, kind, namespace, label)
            for name in superfluous(plan, kind, found, cluster.uid):
                await objects.delete(api_version, kind, namespace, name, "Background")
                logger.info("object removed kind=%s namespace=%s name=%s", kind, namespace, name)

    async def _pods(self, cluster: ClusterIdentity) -> dict[Role, Pods]:
        return {role: await self._pods_of(cluster, role) for role in Role}

    async def _pods_of(self, cluster: ClusterIdentity, role: Role) -> Pods:
        found = await self._around.objects.get("apps/v1", "StatefulSet", cluster.namespace, cluster.service(role))
        if found is None:
            return Pods()
        return Pods(replicas=found["spec"]["replicas"], ready=(found.get("status") or {}).get("readyReplicas", 0))

    async def _partitions_held(self, body: Body) -> dict[int, int] | None:
        cluster = ClusterIdentity.of(body)
        try:
            return await partitions_held(await self._around.connections.to(body, parse_bootstrap(cluster.bootstrap)))
        except (ClusterUnreachable, BadAuthority) as error:
            logger.warning("cluster unreachable cluster=%s error=%s", cluster.name, error)
            return None

    def _fields(self, cluster: ClusterIdentity, pods: Mapping[Role, Pods]) -> dict[str, Any]:
        return {
            "bootstrap": cluster.bootstrap,
            "brokers": f"{pods[Role.BROKER].ready}/{pods[Role.BROKER].replicas}",
            "controllers": f"{pods[Role.CONTROLLER].ready}/{pods[Role.CONTROLLER].replicas}",
            "coordinators": f"{pods[Role.COORDINATOR].ready}/{pods[Role.COORDINATOR].replicas}",
        }
