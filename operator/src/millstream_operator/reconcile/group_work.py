"""What is to be done about one group, done step by step: where it starts, its configs, a reset of its offsets."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.offset_resets import Partition, ToTime
from millstream_operator.kafka import group_changes, groups
from millstream_operator.kafka.cluster import KafkaCluster, Refused
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.consumer_group import SHARE, GroupSeen, initial_offsets
from millstream_operator.plan.group_configs import DRAIN, ConfigPlan, plan_configs, wanted_configs
from millstream_operator.plan.offset_reset import (
    Phase,
    Reset,
    WantedReset,
    had_its_turn,
    is_settled,
    next_reset,
    refused,
    wanted_reset,
)
from millstream_operator.plan.reset_status import reset_fields, reset_of, snapshot_fields, snapshot_of
from millstream_operator.plan.scope import Body
from millstream_operator.reconcile.group_look import group_id_of
from millstream_operator.reconcile.resource import API_VERSION, Surroundings, note_first
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

KIND = "ConsumerGroup"
DRAIN_LOOK_S = 0.5
DRAIN_LOOKS_MAX = 20
"""A drained group waits for its reset, so this look stays with it for a while."""
RESET_STEPS_MAX = DRAIN_LOOKS_MAX + 5
RESET_IDS_MAX = 100


class Superseded(Exception):
    """Somebody else has written the resource meanwhile: the next look sees what."""


class GroupWork:
    """`body` and `seen` are as they are after what was done."""

    def __init__(self, around: Surroundings, kafka: KafkaCluster, body: Body, seen: GroupSeen) -> None:
        self._around = around
        self._kafka = kafka
        self._group_id = group_id_of(body)
        self.body = body
        self.seen = seen
        self.refusal: Condition | None = None
        """Of a config that the cluster does not take: all else goes on."""

    @property
    def is_there(self) -> bool:
        return bool(
            initial_offsets(self.body["spec"], self.seen)
            or not is_settled(self._wanted_reset(), self._last_reset)
            or self._needs(self._config_plan(self._last_reset))
        )

    async def do(self) -> None:
        """Nothing is done about what was true a moment ago. Raises ClusterUnreachable, Refused, Superseded."""
        metadata = self.body["metadata"]
        current = await self._around.objects.get(API_VERSION, KIND, metadata["namespace"], metadata["name"])
        if (
            current is None
            or current["metadata"]["uid"] != metadata["uid"]
            or current["metadata"].get("deletionTimestamp")
        ):
            raise Superseded
        self.body = current
        await self._look()
        starts = initial_offsets(self.body["spec"], self.seen)
        if starts:
            await group_changes.set_offsets(self._kafka, self._group_id, starts)
            logger.info("group started group=%s partitions=%d", self._group_id, len(starts))
            await self._look()
        await self._configure(self._last_reset)
        if not is_settled(self._wanted_reset(), self._last_reset):
            await self._reset()

    async def _look(self) -> None:
        self.seen = await groups.look_at(self._kafka, self._group_id, self.body["spec"].get("topics") or ())

    # ---- configs ----

    def _config_plan(self, reset: Reset | None) -> ConfigPlan:
        made = (self.body.get("status") or {}).get("configs") or ()
        wanted = wanted_configs(self.body["spec"], drains=reset is not None and reset.withholds)
        return plan_configs(wanted, self.seen.configs, made)

    def _needs(self, plan: ConfigPlan) -> bool:
        return bool(plan.changes) or plan.made != tuple((self.body.get("status") or {}).get("configs") or ())

    async def _configure(self, reset: Reset | None) -> None:
        plan = self._config_plan(reset)
        if not self._needs(plan):
            return
        if list(plan.noted) != (self.body.get("status") or {}).get("configs"):
            await self._note({"configs": list(plan.noted)})
        # Apart: the door of a drain opens and closes also where another config is refused.
        door = {key: value for key, value in plan.changes.items() if key == DRAIN}
        others = {key: value for key, value in plan.changes.items() if key != DRAIN}
        is_refused = False
        for changes in filter(None, (door, others)):
            try:
                await group_changes.set_configs(self._kafka, self._group_id, changes)
            except Refused as error:
                if error.code.retriable:
                    raise
                self.refusal = Condition("Ready", False, error.reason, str(error))
                is_refused = True
            else:
                logger.info("group configured group=%s configs=%s", self._group_id, ",".join(changes))
        if plan.made != plan.noted and not is_refused:
            await self._note({"configs": list(plan.made)})
        await self._look()

    # ---- offsets ----

    @property
    def _last_reset(self) -> Reset | None:
        return reset_of(self.body.get("status") or {})

    @property
    def _used_ids(self) -> Sequence[str]:
        return (self.body.get("status") or {}).get("resetIds") or ()

    def _wanted_reset(self) -> WantedReset | None:
        wanted = wanted_reset(self.body["spec"], self._around.world.now_ms())
        return None if wanted is None or had_its_turn(wanted.id, self._last_reset, self._used_ids) else wanted

    async def _reset(self) -> None:
        for _ in range(RESET_STEPS_MAX):
            reset = await self._next_reset()
            if reset is None:
                return
            await self._configure(reset)
            match reset.phase:
                case Phase.DRAINING:
                    await asyncio.sleep(DRAIN_LOOK_S)
                case Phase.MOVING:
                    await self._move(reset)
                case _:
                    return
            await self._look()

    async def _next_reset(self) -> Reset | None:
        """The phase that the reset is in now, written down."""
        wanted, last = self._wanted_reset(), self._last_reset
        if self.seen.unanswered and wanted is not None:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, "a partition has no leader that answers: the reset waits")
        now_ms = self._around.world.now_ms()
        snapshot = snapshot_of(self.body.get("status") or {})
        reset = next_reset(wanted, last, self.seen, snapshot, await self._at_time(wanted), now_ms)
        if reset is not None and reset is not last:
            await self._note_reset(reset)
        return reset

    async def _at_time(self, wanted: WantedReset | None) -> Mapping[Partition, int]:
        if wanted is None or not isinstance(wanted.to, ToTime):
            return {}
        found = await groups.offsets_at(self._kafka, dict.fromkeys(self.seen.ranges, wanted.to.timestamp_ms))
        if found.keys() != self.seen.ranges.keys():
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, "a partition has no leader that answers: the reset waits")
        return found

    async def _move(self, reset: Reset) -> None:
        try:
            is_share = self.seen.type == SHARE
            await group_changes.set_offsets(self._kafka, self._group_id, reset.after, is_share=is_share)
        except Refused as error:
            if error.code.retriable:
                raise
            await self._note_reset(refused(reset, str(error), self._around.world.now_ms()))

    async def _note_reset(self, reset: Reset) -> None:
        fields: dict[str, Any] = {"lastReset": reset_fields(reset)}
        if reset.phase is not Phase.PLANNED:
            used = [each for each in self._used_ids if each != reset.id]
            fields["resetIds"] = [*used, reset.id][-RESET_IDS_MAX:]
        if reset.phase is Phase.MOVING:
            fields["snapshot"] = snapshot_fields(reset)
        logger.info("group reset group=%s id=%s phase=%s", self._group_id, reset.id, reset.phase.value)
        await self._note(fields)

    async def _note(self, fields: Mapping[str, Any]) -> None:
        written = await note_first(self._around, KIND, self.body, fields)
        if written is None:
            raise Superseded
        self.body = written
