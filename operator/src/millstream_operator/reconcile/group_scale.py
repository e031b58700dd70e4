"""The consumers of a group: as many as its lag asks for, or somebody says; those that are gone are members no longer."""

import logging
from collections import OrderedDict
from typing import Any

from millstream_operator.kafka import group_changes
from millstream_operator.kafka.cluster import KafkaCluster
from millstream_operator.kube import scales
from millstream_operator.kube.events import Event
from millstream_operator.kube.scales import Scale
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.consumer_group import GroupSeen, lag_of
from millstream_operator.plan.consumer_scale import Recommendations, Scaling, without_pods
from millstream_operator.plan.scope import Body
from millstream_operator.reconcile.group_look import group_id_of
from millstream_operator.reconcile.resource import Surroundings, tell
from millstream_operator.resources.identity import CLUSTER_LABEL

logger = logging.getLogger(__name__)

GROUPS_MAX = 10_000
OWN_LABELS = (f"{CLUSTER_LABEL}=", "app.kubernetes.io/name=millstream-operator")
"""Who may write ConsumerGroups must not thereby stop brokers."""


class GroupScaler:
    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._recommendations: OrderedDict[str, Recommendations] = OrderedDict()
        """By the resource's uid."""

    async def scale(self, kafka: KafkaCluster, body: Body, seen: GroupSeen) -> tuple[dict[str, Any], Condition | None]:
        """What the status says of it."""
        scaling = Scaling.of(body["spec"])
        if scaling is None:
            return {}, None
        namespace = body["metadata"]["namespace"]
        found = await scales.scale_of(self._around.objects, scaling.kind, namespace, scaling.name)
        if found is None:
            message = f"no {scaling.kind} {scaling.name} in namespace {namespace}"
            return {"replicas": 0, "selector": ""}, Condition("Scaled", False, "WorkloadMissing", message)
        if any(label in found.selector for label in OWN_LABELS):
            message = f"{scaling.kind} {scaling.name} is Millstream's own"
            return {"replicas": 0, "selector": ""}, Condition("Scaled", False, "WorkloadNotAllowed", message)
        wanted = self._wanted(scaling, body, seen, found)
        if wanted != found.wanted:
            await scales.scale(self._around.objects, scaling.kind, namespace, scaling.name, wanted)
            message = f"{scaling.kind} {scaling.name} from {found.wanted} to {wanted}: lag {lag_of(seen).total}"
            logger.info("consumers scaled group=%s from=%d to=%d", group_id_of(body), found.wanted, wanted)
            await tell(self._around, "ConsumerGroup", body, Event("ConsumersScaled", message))
        elif scaling.kind == "StatefulSet" and found.there <= wanted:
            await self._let_go(kafka, body, seen, await self._without_pods(scaling, namespace, wanted, seen))
        fields = {"replicas": found.there, "selector": found.selector}
        if scaling.kind == "StatefulSet" and found.there > wanted:
            return fields, Condition("Scaled", None, "ScalingDown", f"{found.there} pods, {wanted} wanted")
        return fields, Condition("Scaled", True, "AsWanted", f"{wanted} replicas")

    def _wanted(self, scaling: Scaling, body: Body, seen: GroupSeen, found: Scale) -> int:
        if scaling.replicas is None and seen.withholds:
            return found.wanted
        uid, now_ms = body["metadata"]["uid"], self._around.world.monotonic_ms()
        asked = self._recommendations.setdefault(uid, Recommendations(now_ms))
        self._recommendations.move_to_end(uid)
        if len(self._recommendations) > GROUPS_MAX:
            self._recommendations.popitem(last=False)
        partitions = len(seen.ranges) + seen.unanswered
        return asked.wanted(scaling, lag_of(seen).total, partitions, found.wanted, now_ms)

    async def _without_pods(self, scaling: Scaling, namespace: str, replicas: int, seen: GroupSeen) -> list[str]:
        """Where all are numbered from 0 there is nothing to ask."""
        if not without_pods(scaling.name, replicas, seen.statics):
            return []
        first = await scales.first_ordinal(self._around.objects, namespace, scaling.name)
        return without_pods(scaling.name, first + replicas, seen.statics)

    async def _let_go(self, kafka: KafkaCluster, body: Body, seen: GroupSeen, instances: list[str]) -> None:
        """Nobody else would before the session timeout, and until then their partitions are read by nobody."""
        if not instances:
            return
        members = {each: seen.statics[each] for each in instances}
        await group_changes.remove_static_members(kafka, group_id_of(body), members, seen.type)
        logger.info("static members removed group=%s instances=%s", group_id_of(body), ",".join(instances))
