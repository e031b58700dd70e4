"""ConsumerGroups: start the group where the resource says, and show its members and lag."""

import logging
from collections.abc import Sequence
from typing import Any

from millstream_operator.kafka import groups
from millstream_operator.kafka.cluster import Refused
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.consumer_group import group_fields, group_readiness, initial_offsets
from millstream_operator.plan.scope import Body, elder
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
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)


class ConsumerGroupReconciler:
    kind = "ConsumerGroup"

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._turns = Turns()

    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> None:
        async with self._turns.of(body):
            if body["metadata"].get("deletionTimestamp"):
                return
            try:
                fields, condition = await self._look_and_act(body, siblings)
            except EXPECTED as error:
                fields, condition = {}, condition_of(error)
            await write_status(self._around, self.kind, body, {**fields, "groupId": group_id_of(body)}, condition)

    async def _look_and_act(self, body: Body, siblings: Sequence[Body]) -> tuple[dict[str, Any], Condition]:
        spec = body["spec"]
        group_id = group_id_of(body)
        declared = spec.get("topics") or []
        cluster = await self._cluster_of(body, siblings)
        kafka = await kafka_of(self._around, cluster)
        seen = await groups.look_at(kafka, group_id, declared)
        starts = initial_offsets(spec, seen)
        if starts:
            await groups.commit(kafka, group_id, starts)
            logger.info("group started group=%s partitions=%d", group_id, len(starts))
            seen = await groups.look_at(kafka, group_id, declared)
        return group_fields(seen), group_readiness(seen)

    async def _cluster_of(self, body: Body, siblings: Sequence[Body]) -> Body:
        cluster = await cluster_of(self._around, body)
        first = elder(body, siblings, cluster, group_id_of)
        if first is not None:
            raise Conflict(f"the older resource {first} declares the group {group_id_of(body)} too")
        return cluster

    async def delete(self, body: Body) -> None:
        """Delete the group if it is this resource's and nobody is in it; one that is in use stays."""
        async with self._turns.of(body):
            group_id = group_id_of(body)
            try:
                cluster = await self._cluster_of(body, await self._around.every(self.kind))
                kafka = await kafka_of(self._around, cluster)
                await groups.delete(kafka, group_id)
                logger.info("group deleted group=%s", group_id)
            except (ClusterMissing, NamespaceNotAllowed, Conflict) as error:
                logger.info("group let go group=%s reason=%s", group_id, error)
            except Refused as error:
                if error.code is not ErrorCode.NON_EMPTY_GROUP:
                    raise
                logger.info("group left alone group=%s reason=it has members", group_id)


def group_id_of(body: Body) -> str:
    return str(body["spec"].get("groupId") or body["metadata"]["name"])
