"""Topics: make the cluster's topic what the resource declares, and say how it is."""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from millstream_cluster.ids import uuid_text
from millstream_operator.kafka import topics
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.scope import Body, Namesakes, elder
from millstream_operator.plan.topic import is_the_created, topic_status, wanted_topic
from millstream_operator.reconcile.group_look import GroupLooks
from millstream_operator.reconcile.resource import (
    API_VERSION,
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
from millstream_operator.reconcile.topic_glance import TopicGlances
from millstream_operator.reconcile.topic_work import TopicWork

logger = logging.getLogger(__name__)


class TopicReconciler:
    kind = "Topic"

    def __init__(self, around: Surroundings, groups: GroupLooks) -> None:
        self._around = around
        self._groups = groups
        self._turns = Turns()
        self._named: Namesakes | None = None
        self._glances = TopicGlances(around.world)

    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> Body | None:
        """`siblings` are all Topics that are looked after: the oldest that names a topic has it."""
        async with self._turns.of(body):
            if body["metadata"].get("deletionTimestamp"):
                return body
            try:
                fields, condition = await self._look_and_act(body, siblings)
            except EXPECTED as error:
                fields, condition = {}, condition_of(error)
            return await write_status(self._around, self.kind, body, fields, condition)

    async def _look_and_act(self, body: Body, siblings: Sequence[Body]) -> tuple[dict[str, Any], Condition]:
        wanted = wanted_topic(body["metadata"]["name"], body["spec"])
        cluster = await cluster_of(self._around, body)
        first = elder(body, self._namesakes(siblings).of(body), cluster, name_of)
        if first is not None:
            raise Conflict(f"the older resource {first} declares {wanted.name} too")
        kafka = await kafka_of(self._around, cluster)
        glance = await self._glances.at(kafka, cluster, siblings)
        work = TopicWork(self._around, self._groups, kafka, cluster, body, glance.topics.get(wanted.name))
        # What it did not know is not believed from a moment ago: it may be a topic that was deleted since.
        if work.is_there or (work.seen is not None and not _is_known(body, work.seen.topic_id)):
            await work.do()
        seen = work.seen
        if seen is None:
            return {}, Condition("Ready", None, "Creating", "the topic is being created")
        created = work.has_created or await self._has_created(body, seen.topic_id)
        status = topic_status(seen, work.told, {node: _pod_name(host) for node, host in glance.hosts.items()})
        return {**status.fields, "topicName": wanted.name, "created": created, "plan": work.plan}, status.condition

    async def _has_created(self, body: Body, topic_id: UUID) -> bool:
        """By what the status says now, where it did not say anything of this topic when it was listed: another look may have come before."""
        status, metadata = body.get("status") or {}, body["metadata"]
        if not _is_known(body, topic_id):
            current = await self._around.objects.get(API_VERSION, self.kind, metadata["namespace"], metadata["name"])
            status = (current or {}).get("status") or {}
        return is_the_created(status, topic_id)

    def _namesakes(self, siblings: Sequence[Body]) -> Namesakes:
        """Of one list of all Topics, which many of them are looked at with."""
        if self._named is None or self._named.siblings is not siblings:
            self._named = Namesakes(siblings, name_of)
        return self._named

    async def delete(self, body: Body) -> None:
        """Delete the data, if the topic is still the very one that this resource created; else let it be."""
        async with self._turns.of(body):
            name = name_of(body)
            try:
                kafka = await kafka_of(self._around, await cluster_of(self._around, body))
                topic_id = await topics.topic_id_of(kafka, name)
                if topic_id is not None and is_the_created(body.get("status") or {}, topic_id):
                    await topics.delete(kafka, topic_id)
                    logger.info("topic deleted topic=%s", name)
                else:
                    logger.info("topic left alone topic=%s reason=not created by this resource", name)
            except (ClusterMissing, NamespaceNotAllowed) as error:
                logger.info("topic let go topic=%s reason=%s", name, error)


def name_of(body: Body) -> str:
    return wanted_topic(body["metadata"]["name"], body["spec"]).name


def _is_known(body: Body, topic_id: UUID) -> bool:
    return bool((body.get("status") or {}).get("topicId") == uuid_text(topic_id))


def _pod_name(host: str) -> str:
    return host.partition(".")[0]
