"""What is to be done about one topic: its plan, what of it has to wait for somebody, and the rest done step by step."""

import logging
from collections.abc import Sequence
from typing import Any

from millstream_operator.kafka import brokers, topics
from millstream_operator.kafka.cluster import KafkaCluster
from millstream_operator.kafka.partitions import standing_of
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.scale import View
from millstream_operator.plan.scope import Body, cluster_key, serves
from millstream_operator.plan.topic import Step, TopicSeen, has_to_move, plan_topic, wanted_topic
from millstream_operator.plan.topic_approval import (
    guarded,
    is_approved,
    lowers_retention,
    plan_fields,
    plan_id_of,
    waits_for_approval,
)
from millstream_operator.plan.topic_replicas import ReplicaPlan, movement_fields, plan_replicas
from millstream_operator.reconcile.group_look import GroupLooks
from millstream_operator.reconcile.resource import Surroundings
from millstream_operator.reconcile.scale import wanted_of

logger = logging.getLogger(__name__)


class TopicWork:
    """`seen` is the topic as it is after what was done."""

    def __init__(
        self,
        around: Surroundings,
        groups: GroupLooks,
        kafka: KafkaCluster,
        cluster: Body,
        body: Body,
        seen: TopicSeen | None,
    ) -> None:
        self._around = around
        self._groups = groups
        self._kafka = kafka
        self._cluster = cluster
        self._body = body
        self._wanted = wanted_topic(body["metadata"]["name"], body["spec"])
        self.seen = seen
        self.has_created = False
        self.told: Condition | None = None
        """What is to be said in place of that all is as declared."""
        self.plan: dict[str, Any] | None = None
        """What waits for approval."""

    @property
    def is_there(self) -> bool:
        plan = plan_topic(self._wanted, self.seen)
        self.told = plan.refusal
        return bool(plan.steps) or (self.seen is not None and has_to_move(self._wanted, self.seen))

    async def do(self) -> None:
        """Nothing is done about what was true a moment ago."""
        name = self._wanted.name
        self.seen = await topics.look_at(self._kafka, name)
        plan = plan_topic(self._wanted, self.seen)
        steps: Sequence[Step] = plan.steps
        self.told = plan.refusal
        replicas = ReplicaPlan()
        if self.seen is not None:
            replicas = await self._replica_plan(self.seen)
            steps = (*steps, *([replicas.step] if replicas.step else ()))
            steps = await self._guarded(self.seen, steps)
            plan_id = plan_id_of(self._wanted, self.seen)
            if not is_approved(self._body["spec"], plan_id, steps):
                rate = wanted_of(self._cluster["spec"]).bytes_per_second
                self.plan = plan_fields(plan_id, steps, movement_fields(replicas, rate), await self._readers())
                self.told = waits_for_approval(plan_id, steps)
                return
        for step in steps:
            await topics.perform(self._kafka, step)
            logger.info("topic step topic=%s step=%s", name, step)
        self.has_created = self.seen is None
        if steps:
            self.seen = await topics.look_at(self._kafka, name)

    async def _replica_plan(self, seen: TopicSeen) -> ReplicaPlan:
        if not has_to_move(self._wanted, seen):
            return ReplicaPlan()
        found = await brokers.registered(self._kafka)
        view = View(
            brokers=await brokers.described(self._kafka, found),
            partitions=await standing_of(self._kafka),
            sizes=await brokers.sizes(self._kafka, found),
        )
        plan = plan_replicas(self._wanted, view)
        moving = plan.moving or (len(plan.step.replicas) if plan.step else 0)
        if moving and self.told is None:
            self.told = Condition("Ready", True, "ReplicasMoving", f"{moving} partitions are on the move")
        self.told = plan.refusal or self.told
        return plan

    async def _guarded(self, seen: TopicSeen, steps: Sequence[Step]) -> Sequence[Step]:
        retention_ms = lowers_retention(steps, seen)
        if retention_ms is None or self._body["spec"].get("forceRetention"):
            return steps
        groups = await self._groups_of_cluster()
        if not groups:
            return steps
        look = await self._groups.at(self._kafka, self._cluster, groups[0], groups)
        steps, refusal = guarded(steps, retention_ms, look.slowest(self._wanted.name))
        self.told = refusal or self.told
        return steps

    async def _groups_of_cluster(self) -> list[Body]:
        key = cluster_key(self._body)
        return [
            each
            for each in await self._around.every("ConsumerGroup")
            if cluster_key(each) == key and serves(self._cluster, each["metadata"]["namespace"])
        ]

    async def _readers(self) -> list[str]:
        return [
            f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            for each in await self._groups_of_cluster()
            if self._wanted.name in (each["spec"].get("topics") or ())
        ]
