"""ConsumerGroups: start, pause, limit and reset the group as the resource says, and show its members and lag."""

import logging
from collections.abc import Sequence
from typing import Any

from millstream_operator.kafka import group_changes, groups
from millstream_operator.kafka.cluster import KafkaCluster, Refused
from millstream_operator.metrics import GroupShown, OperatorMetrics, Resource
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.consumer_group import GroupSeen, group_conditions, group_fields, lag_of
from millstream_operator.plan.group_configs import plan_configs
from millstream_operator.plan.lag_times import Behind
from millstream_operator.plan.reset_status import reset_condition, reset_of
from millstream_operator.plan.scope import Body, Namesakes, elder
from millstream_operator.reconcile.group_look import GroupLooks, group_id_of
from millstream_operator.reconcile.group_scale import GroupScaler
from millstream_operator.reconcile.group_work import GroupWork, Superseded
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

    def __init__(self, around: Surroundings, looks: GroupLooks, metrics: OperatorMetrics) -> None:
        self._around = around
        self._metrics = metrics
        self._turns = Turns()
        self._looks = looks
        self._scaler = GroupScaler(around)
        self._named: Namesakes | None = None

    async def reconcile(self, body: Body, siblings: Sequence[Body]) -> Body | None:
        async with self._turns.of(body):
            if body["metadata"].get("deletionTimestamp"):
                return body
            fields: dict[str, Any] = {}
            try:
                body, fields, conditions = await self._look_and_act(body, siblings)
            except Superseded:
                return None
            except EXPECTED as error:
                self._metrics.forget_group(_resource(body))
                conditions = [condition_of(error)]
            fields = {**fields, "groupId": group_id_of(body)}
            return await write_status(self._around, self.kind, body, fields, *conditions)

    async def _look_and_act(self, body: Body, siblings: Sequence[Body]) -> tuple[Body, dict[str, Any], list[Condition]]:
        cluster = await self._cluster_of(body, siblings)
        kafka = await kafka_of(self._around, cluster)
        look = await self._looks.at(kafka, cluster, body, siblings)
        seen = look.glance.of(group_id_of(body))
        work = GroupWork(self._around, kafka, body, seen)
        if work.is_there:
            await work.do()
            body, seen = work.body, work.seen
        behind = look.behind(body, seen)
        self._show(cluster, body, seen, behind)
        conditions = group_conditions(body["spec"], seen, behind)
        if work.refusal is not None:
            conditions[0] = work.refusal
        last = reset_of(body.get("status") or {})
        if last is not None:
            conditions.append(reset_condition(last))
        scaled, told = await self._scaler.scale(kafka, body, seen)
        if told is not None:
            conditions.append(told)
        return body, {**group_fields(seen, behind), **scaled}, conditions

    def _show(self, cluster: Body, body: Body, seen: GroupSeen, behind: Behind) -> None:
        shown = GroupShown(
            cluster=cluster["metadata"]["name"],
            group_id=group_id_of(body),
            lag=lag_of(seen).total,
            lag_seconds=behind.ms // 1000,
            members=seen.members,
            stuck=len(behind.stuck),
        )
        self._metrics.saw_group(_resource(body), shown)

    async def _cluster_of(self, body: Body, siblings: Sequence[Body]) -> Body:
        cluster = await cluster_of(self._around, body)
        if self._named is None or self._named.siblings is not siblings:
            self._named = Namesakes(siblings, group_id_of)
        first = elder(body, self._named.of(body), cluster, group_id_of)
        if first is not None:
            raise Conflict(f"the older resource {first} declares the group {group_id_of(body)} too")
        return cluster

    async def delete(self, body: Body) -> None:
        """Take away the configs that this resource set, and the group, if it is to go, nobody is in it and nobody else declares it."""
        async with self._turns.of(body):
            group_id = group_id_of(body)
            others = [each for each in await self._around.every(self.kind) if each["metadata"]["uid"] != _uid(body)]
            try:
                cluster = await self._cluster_of(body, [*others, body])
                kafka = await kafka_of(self._around, cluster)
                await _take_configs_away(kafka, body)
                is_declared = elder(body, others, cluster, group_id_of) is not None
                if body["spec"].get("deletionPolicy") == "DeleteIfEmpty" and not is_declared:
                    await _delete(kafka, group_id)
            except (ClusterMissing, NamespaceNotAllowed, Conflict) as error:
                logger.info("group let go group=%s reason=%s", group_id, error)


async def _take_configs_away(kafka: KafkaCluster, body: Body) -> None:
    group_id = group_id_of(body)
    made = (body.get("status") or {}).get("configs") or ()
    changes = plan_configs({}, (await groups.look_at(kafka, group_id, ())).configs, made).changes
    if changes:
        await group_changes.set_configs(kafka, group_id, changes)


async def _delete(kafka: KafkaCluster, group_id: str) -> None:
    try:
        await group_changes.delete(kafka, group_id)
    except Refused as error:
        if error.code is not ErrorCode.NON_EMPTY_GROUP:
            raise
        logger.info("group left alone group=%s reason=it has members", group_id)
    else:
        logger.info("group deleted group=%s", group_id)


def _uid(body: Body) -> str:
    return str(body["metadata"]["uid"])


def _resource(body: Body) -> Resource:
    return Resource(ConsumerGroupReconciler.kind, body["metadata"]["namespace"], body["metadata"]["name"])
