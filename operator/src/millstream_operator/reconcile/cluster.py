"""Clusters: apply what a Cluster owns, exchange its pods one at a time, and say how its partitions and pods are."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.ids import Role
from millstream_operator.certificates.authority import BadAuthority
from millstream_operator.kafka.cluster import ClusterUnreachable, KafkaCluster, Refused
from millstream_operator.kafka.partitions import begin_anew, standing_of
from millstream_operator.kube.applied import Applied, Found
from millstream_operator.kube.events import Event
from millstream_operator.kube.objects import KubernetesError
from millstream_operator.metrics import ClusterSeen, OperatorMetrics
from millstream_operator.plan.certificates import ROTATE
from millstream_operator.plan.claims import Claim, has_claims_to_change
from millstream_operator.plan.cluster import plan_cluster, pods_wanted, superfluous
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.health import partition_fields, readiness
from millstream_operator.plan.lost import accepted, lost, lost_fields
from millstream_operator.plan.partitions import PartitionStanding, Totals
from millstream_operator.plan.roll import Roll, is_changing, plan_roll
from millstream_operator.plan.scale import Scale, plan_scale
from millstream_operator.plan.scope import Body, cluster_key, serves
from millstream_operator.plan.workload import Workload, workload_of
from millstream_operator.reconcile.claims import Claims
from millstream_operator.reconcile.resource import (
    API_VERSION,
    Surroundings,
    Turns,
    note_first,
    parse_bootstrap,
    tell,
    write_status,
)
from millstream_operator.reconcile.scale import carry_out, noted_of, scale_fields, view_of, wanted_of
from millstream_operator.reconcile.topic import name_of
from millstream_operator.resources.external import GATEWAY_API, listener_fields, target_of
from millstream_operator.resources.identity import CLUSTER_LABEL, ClusterIdentity, Manifest
from millstream_operator.resources.listeners import is_secured

logger = logging.getLogger(__name__)

Standing = Sequence[PartitionStanding] | None
"""None where no broker answered."""

OWNED = (
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "StatefulSet"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    (GATEWAY_API, "TLSRoute"),
)
PRUNED = (
    ("networking.k8s.io/v1", "NetworkPolicy"),
    (GATEWAY_API, "TLSRoute"),
    ("v1", "Service"),
)
"""What a Cluster may cease to ask for."""
NAMED_MAX = 5
DRIFT_MS = 60_000
"""How often it is looked whether somebody else changed what a Cluster owns, and whether certificates are due."""


class _Memory:
    """What need not be found out again at each look; without it everything is."""

    def __init__(self) -> None:
        self.applied = Applied()
        self.targets: dict[str, str] = {}
        """Where load balancers are, by Service."""
        self._owned_seen_ms = 0
        self._asked: tuple[int, str] | None = None
        """The Cluster's generation and what it says about rotation when what it owns was looked at."""

    def is_drift_due(self, body: Body, now_ms: int) -> bool:
        return _asked(body) != self._asked or now_ms - self._owned_seen_ms >= DRIFT_MS

    def saw_owned(self, body: Body, now_ms: int) -> None:
        self._owned_seen_ms, self._asked = now_ms, _asked(body)


def _asked(body: Body) -> tuple[int, str]:
    metadata = body["metadata"]
    return metadata["generation"], (metadata.get("annotations") or {}).get(ROTATE, "")


class ClusterReconciler:
    kind = "Cluster"

    def __init__(self, around: Surroundings, metrics: OperatorMetrics) -> None:
        self._around = around
        self._metrics = metrics
        self._claims = Claims(around)
        self._turns = Turns()
        self._waiting: set[str] = set()
        self._memory: dict[str, _Memory] = {}

    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> Body | None:
        """As it is now, and not when it was listed. Who comes while another waits for its turn has nothing to add to what that one will see."""
        uid: str = body["metadata"]["uid"]
        if uid in self._waiting:
            return None
        self._waiting.add(uid)
        turn = self._turns.of(body)
        try:
            await turn.acquire()
        finally:
            self._waiting.discard(uid)
        try:
            metadata = body["metadata"]
            current = await self._around.objects.get(API_VERSION, self.kind, metadata["namespace"], metadata["name"])
            if current is None or current["metadata"]["uid"] != uid or current["metadata"].get("deletionTimestamp"):
                self._memory.pop(uid, None)
                self._metrics.forget(metadata["namespace"], metadata["name"])
                return None
            return await self._look_and_act(current)
        finally:
            turn.release()

    async def _look_and_act(self, body: Body) -> Body | None:
        cluster, spec = ClusterIdentity.of(body), body["spec"]
        workloads = await self._workloads(cluster)
        partitions = await self._partitions(body, workloads)
        scale = await self._scale(body, workloads, partitions)
        manifests = plan_cluster(
            cluster,
            spec,
            workloads,
            partitions,
            brokers=scale.replicas,
            operator_namespace=self._around.operator_namespace,
        )
        try:
            refused = await self._apply(cluster, body, workloads, manifests)
        except BadAuthority as error:
            bad = Condition("Ready", False, "BadAuthority", str(error))
            return await write_status(self._around, self.kind, body, {}, bad)
        ready = readiness(workloads, spec, partitions)
        if refused:
            ready = Condition("Ready", False, "ApplyFailed", "; ".join(str(error) for error in refused))
        body, scaled = await self._take_steps(body, scale)
        roll, noted = await self._roll(body, workloads, partitions)
        is_asked = has_claims_to_change(spec["brokers"], workloads[Role.BROKER])
        claims = await self._claims.look(body) if is_asked else ()
        released = await self._release(body, claims)
        not_resized = await self._claims.resize(body, claims, workloads[Role.BROKER])
        if accepted(spec, lost(partitions)):
            await self._begin_anew(body, workloads)
        progressing = roll.condition if is_changing(workloads) else scale.condition or not_resized or roll.condition
        fields = self._fields(cluster, workloads) | partition_fields(partitions)
        fields |= {"roll": noted, "scale": scaled, "givenUpClaims": released}
        targets = self._memory[cluster.uid].targets
        fields["listeners"] = listener_fields(cluster, spec, pods_wanted(spec, scale.replicas), targets)
        if partitions is not None:
            fields["lost"] = lost_fields(lost(partitions))
        seen = ClusterSeen(None if partitions is None else Totals.of(partitions), ready, progressing)
        self._metrics.saw(cluster.namespace, cluster.name, seen)
        return await write_status(self._around, self.kind, body, fields, ready, progressing)

    async def _scale(self, body: Body, workloads: Mapping[Role, Workload], partitions: Standing) -> Scale:
        """While pods are exchanged none leaves for good, and nothing is moved."""
        wanted, pods = wanted_of(body["spec"]), workloads[Role.BROKER].replicas
        noted = noted_of(body.get("status") or {})
        if is_changing(workloads):
            return Scale(max(wanted.brokers, pods), noted)
        view = None
        if partitions is not None:
            try:
                placed = await self._placed(body) if noted.balanced not in (None, pods) else frozenset()
                view = await view_of(await self._kafka(body), wanted, pods, noted, partitions, placed)
            except (ClusterUnreachable, Refused, BadAuthority) as error:
                logger.warning("brokers not seen cluster=%s error=%s", body["metadata"]["name"], error)
        return plan_scale(wanted, pods, view, noted)

    async def _placed(self, body: Body) -> frozenset[str]:
        """Topics for which a resource names the brokers."""
        key = body["metadata"]["namespace"], body["metadata"]["name"]
        return frozenset(
            name_of(each)
            for each in await self._around.every("Topic")
            if cluster_key(each) == key
            and serves(body, each["metadata"]["namespace"])
            and (each["spec"].get("placement") or {}).get("brokers")
        )

    async def _take_steps(self, body: Body, scale: Scale) -> tuple[Body, dict[str, Any]]:
        """The steps that do not succeed are in the next plan again."""
        try:
            body = await carry_out(self._around, self.kind, body, self._kafka, scale)
        except (ClusterUnreachable, Refused, BadAuthority) as error:
            logger.warning("scale step failed cluster=%s error=%s", body["metadata"]["name"], error)
            return body, scale_fields(scale.noted, scale)
        return body, scale_fields(scale.after or scale.noted, scale)

    async def _apply(
        self,
        cluster: ClusterIdentity,
        body: Body,
        workloads: Mapping[Role, Workload],
        manifests: Sequence[Manifest],
    ) -> list[KubernetesError]:
        """Raises BadAuthority."""
        memory = self._memory.setdefault(cluster.uid, _Memory())
        now_ms = self._around.world.monotonic_ms()
        found: Found | None = None
        is_missing = not all(each.replicas for each in workloads.values())
        if is_missing or memory.is_drift_due(body, now_ms):
            if is_secured(body["spec"]):
                await self._around.certificates.reconcile(body)
            found = await self._owned(cluster)
            services = {name: target_of(each) for (kind, name), each in found.items() if kind == "Service"}
            memory.targets = {name: target for name, target in services.items() if target is not None}
            memory.saw_owned(body, now_ms)
            await self._stop_rolling(found)
        refused = await memory.applied.apply(self._around.objects, manifests, found)
        if found is not None:
            await self._prune(cluster, manifests, found)
        return refused

    async def _owned(self, cluster: ClusterIdentity) -> Found:
        label = f"{CLUSTER_LABEL}={cluster.name}"
        return {
            (kind, each["metadata"]["name"]): each
            for api_version, kind in OWNED
            for each in await self._around.objects.list(api_version, kind, cluster.namespace, label)
        }

    async def _stop_rolling(self, found: Found) -> None:
        """StatefulSets of 0.1.0 exchange their pods by themselves. An apply leaves what it does not name, and is refused for that."""
        for (kind, name), each in found.items():
            if kind == "StatefulSet" and each["spec"]["updateStrategy"].get("rollingUpdate"):
                strategy = {"type": "OnDelete", "rollingUpdate": None}
                namespace = each["metadata"]["namespace"]
                patch = {"spec": {"updateStrategy": strategy}}
                await self._around.objects.merge_patch("apps/v1", kind, namespace, name, patch)

    async def _prune(self, cluster: ClusterIdentity, manifests: Sequence[Manifest], found: Found) -> None:
        for api_version, kind in PRUNED:
            of_kind = [each for (its_kind, _), each in found.items() if its_kind == kind]
            for name in superfluous(manifests, kind, of_kind, cluster.uid):
                await self._around.objects.delete(api_version, kind, cluster.namespace, name, "Background")
                logger.info("object removed kind=%s namespace=%s name=%s", kind, cluster.namespace, name)

    async def _roll(
        self, body: Body, workloads: Mapping[Role, Workload], partitions: Standing
    ) -> tuple[Roll, dict[str, str] | None]:
        """Take the next step of a change of the pods, if one is due; and what the status notes about it.

        Who may be evicted was closed when the pods were seen to be outdated, so what is seen after that nobody else changes. The step is noted
        before it is taken, against the Cluster as it was read before anything was looked at: of two operators one has its way.
        """
        noted: dict[str, str] | None = (body.get("status") or {}).get("roll")
        uid = noted["uid"] if noted else None
        roll = plan_roll(workloads, partitions, uid)
        if roll.replace is None:
            still_there = any(pod.uid == uid for workload in workloads.values() for pod in workload.pods)
            return roll, noted if still_there else None
        cluster = ClusterIdentity.of(body)
        workloads = await self._workloads(cluster)
        roll = plan_roll(workloads, await self._partitions(body, workloads), uid)
        pod = roll.replace
        if pod is None:
            return roll, noted
        wanted = {"pod": pod.name, "uid": pod.uid}
        if noted != wanted:
            written = await note_first(self._around, self.kind, body, {"roll": wanted})
            if written is None:
                return roll, noted
            await tell(self._around, self.kind, body, Event("PodReplaced", roll.condition.message))
        await self._around.objects.delete("v1", "Pod", cluster.namespace, pod.name, "Background", uid=pod.uid)
        logger.info("pod replaced namespace=%s pod=%s", cluster.namespace, pod.name)
        return roll, wanted

    async def _release(self, body: Body, claims: Sequence[Claim]) -> list[dict[str, Any]]:
        """By what is there now: nothing that was seen before counts for what cannot be undone."""
        if not body["spec"]["brokers"].get("releaseClaims"):
            return []
        workloads = await self._workloads(ClusterIdentity.of(body))
        return await self._claims.release(body, claims, workloads, await self._partitions(body, workloads))

    async def _begin_anew(self, body: Body, workloads: Mapping[Role, Workload]) -> None:
        """What a person has accepted to be lost, if it is still just that: those very partitions that the status showed."""
        gone = lost(await self._partitions(body, workloads))
        if not accepted(body["spec"], gone):
            return
        named = ", ".join(each.name for each in gone[:NAMED_MAX]) + (", ..." if len(gone) > NAMED_MAX else "")
        message = f"a person accepted the loss of {len(gone)} partitions, which begin anew: {named}"
        await tell(self._around, self.kind, body, Event("PartitionsBegunAnew", message, is_warning=True))
        try:
            refused = await begin_anew(await self._kafka(body), gone)
        except (ClusterUnreachable, Refused, BadAuthority) as error:
            refused = [str(error)]
        logger.warning(
            "partitions begun anew cluster=%s count=%d refused=%s", body["metadata"]["name"], len(gone), refused
        )

    async def _workloads(self, cluster: ClusterIdentity) -> dict[Role, Workload]:
        objects, label = self._around.objects, f"{CLUSTER_LABEL}={cluster.name}"
        sets = await objects.list("apps/v1", "StatefulSet", cluster.namespace, label)
        pods = await objects.list("v1", "Pod", cluster.namespace, label)
        by_name = {each["metadata"]["name"]: each for each in sets}
        return {role: workload_of(role, by_name.get(cluster.service(role)), pods) for role in Role}

    async def _partitions(self, body: Body, workloads: Mapping[Role, Workload]) -> Standing:
        if not workloads[Role.BROKER].ready:
            return None
        try:
            return await standing_of(await self._kafka(body))
        except (ClusterUnreachable, Refused, BadAuthority) as error:
            logger.warning("cluster unreachable cluster=%s error=%s", body["metadata"]["name"], error)
            return None

    async def _kafka(self, body: Body) -> KafkaCluster:
        return await self._around.connections.to(body, parse_bootstrap(ClusterIdentity.of(body).bootstrap))

    def _fields(self, cluster: ClusterIdentity, workloads: Mapping[Role, Workload]) -> dict[str, Any]:
        def ready(role: Role) -> str:
            return f"{workloads[role].ready}/{workloads[role].replicas}"

        return {
            "bootstrap": cluster.bootstrap,
            "brokers": ready(Role.BROKER),
            "controllers": ready(Role.CONTROLLER),
            "coordinators": ready(Role.COORDINATOR),
        }
