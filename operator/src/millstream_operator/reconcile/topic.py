"""Topics: make the cluster's topic what the resource declares, and say how it is."""

import logging
from collections.abc import Sequence
from typing import Any

from millstream_operator.kafka import topics
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.scope import Body, elder
from millstream_operator.plan.topic import may_delete, plan_topic, topic_status, wanted_topic
from millstream_operator.reconcile.resource import (
    EXPECTED,
    ClusterMissing,
    Conflict,
    NamespaceNotAllowed,
    Surroundings,
    Turns,
    cluster_of,
    condition_of,
    kafka_of,
    write_status,
)

logger = logging.getLogger(__name__)


class TopicReconciler:
    kind = "Topic"

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._turns = Turns()

    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> None:
        """`siblings` are all Topics that are looked after: the oldest that names a topic has it."""
        async with self._turns.of(body):
            if body["metadata"].get("deletionTimestamp"):
                return
            try:
                fields, condition = await self._look_and_act(body, siblings)
            except EXPECTED as error:
                fields, condition = {}, condition_of(error)
            await write_status(self._around, self.kind, body, fields, condition)

    async def _look_and_act(self, body: Body, siblings: Sequence[Body]) -> tuple[dict[str, Any], Condition]:
        wanted = wanted_topic(body["metadata"]["name"], body["spec"])
        cluster = await cluster_of(self._around, body)
        first = elder(body, siblings, cluster, name_of)
        if first is not None:
            raise Conflict(f"the older resource {first} declares {wanted.name} too")
        kafka = await kafka_of(self._around, cluster)
        seen = await topics.look_at(kafka, wanted.name)
        plan = plan_topic(wanted, seen)
        for step in plan.steps:
            await topics.perform(kafka, step)
            logger.info("topic step topic=%s step=%s", wanted.name, step)
        created = seen is None or bool((body.get("status") or {}).get("created"))
        if plan.steps:
            seen = await topics.look_at(kafka, wanted.name)
        if seen is None:
            return {}, Condition("Ready", None, "Creating", "the topic is being created")
        metadata = await kafka.metadata([])
        status = topic_status(seen, plan.refusal, {node.node_id: _pod_name(node.host) for node in metadata.brokers})
        return {**status.fields, "topicName": wanted.name, "created": created}, status.condition

    async def delete(self, body: Body) -> None:
        """Delete the data, if the topic is still the very one that this resource created; else let it be."""
        async with self._turns.of(body):
            name = name_of(body)
            try:
                kafka = await kafka_of(self._around, await cluster_of(self._around, body))
                topic_id = await topics.topic_id_of(kafka, name)
                if topic_id is not None and may_delete(body.get("status") or {}, topic_id):
                    await topics.delete(kafka, topic_id)
                    logger.info("topic deleted topic=%s", name)
                else:
                    logger.info("topic left alone topic=%s reason=not created by this resource", name)
            except (ClusterMissing, NamespaceNotAllowed) as error:
                logger.info("topic let go topic=%s reason=%s", name, error)


def name_of(body: Body) -> str:
    return wanted_topic(body["metadata"]["name"], body["spec"]).name


def _pod_name(host: str) -> str:
    return host.partition(".")[0]
