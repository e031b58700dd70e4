"""The classic groups of one shard in service: feeds them, carries out what they decide, wakes them at their deadlines.

Everything that must outlive this process goes through `Replicated`; who waits for an answer waits in `_waiting`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import assert_never, cast

from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_coordinator.core.classic.deadlines import on_deadline, on_heartbeat, on_pause
from millstream_coordinator.core.classic.group import ClassicGroup
from millstream_coordinator.core.classic.joining import on_join
from millstream_coordinator.core.classic.leaving import on_leave
from millstream_coordinator.core.classic.messages import (
    Answer,
    Effect,
    JoinAnswer,
    JoinRequest,
    LeavingMember,
    LeftMember,
    StoreGroup,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from millstream_coordinator.core.classic.policy import dismiss_if_drained, on_limits
from millstream_coordinator.core.classic.records import GroupStored
from millstream_coordinator.core.classic.syncing import on_store_refused, on_stored, on_sync
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import size_of
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX
from millstream_coordinator.shell.clock import SteadyClock
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

STORE_RETRY_S = 1.0
PAUSE_MS = 2_000
"""Woken so much too late, the process stood still: members may have spoken while it could not hear."""


class ClassicGroups:
    def __init__(
        self,
        replicated: Replicated[GroupShard, ShardRecord],
        clock: SteadyClock,
        tasks: asyncio.TaskGroup,
        image: Callable[[], Image],
    ) -> None:
        self._shard = replicated.machine
        self._replicated = replicated
        self._clock = clock
        self._tasks = tasks
        self._image = image
        self._tickets = 0
        self._waiting: dict[Ticket, asyncio.Future[JoinAnswer | SyncAnswer]] = {}
        self._timers: dict[str, tuple[int, asyncio.TimerHandle]] = {}
        for group_id in list(self._shard.groups):
            self.reconsider(group_id)

    async def join(self, group_id: str, request: Callable[[Ticket], JoinRequest]) -> JoinAnswer:
        now_ms = self._clock.now_ms()
        ticket, answer = self._ticket()
        group = self._shard.enter(group_id, now_ms)
        group.limits = self.limits_of(group_id)
        self._perform(group, on_join(group, request(ticket), now_ms))
        return cast(JoinAnswer, await answer)

    async def sync(self, group_id: str, request: Callable[[Ticket], SyncRequest]) -> SyncAnswer:
        group = self._shard.groups.get(group_id)
        if group is None:
            return SyncAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID)
        ticket, answer = self._ticket()
        self._perform(group, on_sync(group, request(ticket), self._clock.now_ms()))
        return cast(SyncAnswer, await answer)

    def heartbeat(self, group_id: str, member_id: str, generation: int, instance_id: str | None) -> ErrorCode:
        group = self._shard.groups.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        # The session ends later now: the timer finds that out when it fires.
        now_ms = self._clock.now_ms()
        error = on_heartbeat(group, member_id, generation, instance_id, now_ms)
        if error is ErrorCode.NONE and group.limits.policy.drains:
            error = dismiss_if_drained(group, member_id, now_ms)
            self._perform(group, group.take_effects())
        return error

    def leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> tuple[LeftMember, ...] | ErrorCode:
        group = self._shard.groups.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        left, effects = on_leave(group, leaving, self._clock.now_ms())
        self._perform(group, effects)
        return left

    def migrated(self, group: ClassicGroup) -> None:
        """The group was ended, and who waits in it is told so; or it was begun with the members of a consumer group."""
        self._perform(group, group.take_effects())

    def reconsider(self, group_id: str) -> None:
        """The group's configuration changed, or the shard was only just loaded."""
        group = self._shard.groups.get(group_id)
        if group is not None:
            self._perform(group, on_limits(group, self.limits_of(group_id), self._clock.now_ms()))

    def limits_of(self, group_id: str) -> GroupLimits:
        return self._shard.limits.of_group(self._image().config(ResourceType.GROUP, group_id))

    def close(self, reason: str) -> None:
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(NotCommitted(reason))
        self._waiting.clear()

    async def _store(self, group: ClassicGroup, effect: StoreGroup) -> None:
        record = GroupStored(effect.group)
        if size_of(record) > COMMAND_BYTES_MAX:
            logger.warning("group too large to store group=%s members=%d", group.group_id, len(group.members))
            self._perform(group, on_store_refused(group, effect.event, self._clock.now_ms()))
            return

        def decide(shard: GroupShard, _: int) -> Decision[ShardRecord, bool]:
            # A group that was deleted meanwhile must not come back from the log.
            alive = shard.groups.get(group.group_id) is group
            return Decision((record,) if alive else (), alive)

        while True:
            try:
                if not await self._replicated.execute(decide):
                    return
                break
            except NotCommitted:
                if self._replicated.failure is not None:
                    return  # the shard is being dropped, and with it everyone who waits here
                await asyncio.sleep(STORE_RETRY_S)  # too many wait for the log already; the members wait for this
        logger.info(
            "group stored group=%s generation=%d members=%d protocol=%s",
            effect.group.group_id,
            effect.group.generation,
            len(effect.group.members),
            effect.group.protocol,
        )
        self._perform(group, on_stored(group, effect.event, self._clock.now_ms()))

    def _ticket(self) -> tuple[Ticket, asyncio.Future[JoinAnswer | SyncAnswer]]:
        if self._replicated.failure is not None:  # nobody would ever answer
            raise NotCommitted(str(self._replicated.failure))
        self._tickets += 1
        ticket = Ticket(self._tickets)
        answer = self._waiting[ticket] = asyncio.get_running_loop().create_future()
        return ticket, answer

    def _perform(self, group: ClassicGroup, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Answer():
                    answer = self._waiting.pop(effect.ticket)
                    if not answer.done():  # its client may have gone away
                        answer.set_result(effect.answer)
                case StoreGroup():
                    self._tasks.create_task(self._store(group, effect))
                case _:
                    assert_never(effect)
        if self._shard.groups.get(group.group_id) is group:
            self._arm(group)

    def _arm(self, group: ClassicGroup) -> None:
        """Have the group woken at its deadline."""
        deadline_ms = group.deadline()
        armed = self._timers.get(group.group_id)
        if armed is not None and deadline_ms is not None and deadline_ms < armed[0]:
            armed[1].cancel()
            armed = None
        if armed is None and deadline_ms is not None:
            delay_s = max(0, deadline_ms - self._clock.now_ms()) / 1000
            timer = asyncio.get_running_loop().call_later(delay_s, self._wake, group.group_id)
            self._timers[group.group_id] = deadline_ms, timer

    def _wake(self, group_id: str) -> None:
        due_ms, _ = self._timers.pop(group_id)
        group = self._shard.groups.get(group_id)
        if group is None:
            return
        now_ms = self._clock.now_ms()
        before = set(group.members)
        if now_ms - due_ms > PAUSE_MS:
            logger.warning("sessions start anew group=%s reason=woken_late ms=%d", group_id, now_ms - due_ms)
            on_pause(group, now_ms)
        effects = on_deadline(group, now_ms)
        if gone := before - group.members.keys():
            logger.info("members timed out group=%s members=%s", group_id, ",".join(sorted(gone)))
        self._perform(group, effects)
        self._shard.forget_if_unborn(group)
