"""The consumer groups of one shard in service: takes heartbeats to the shard and wakes it when members fell silent.

Nobody waits here but for the log: a member that has to wait for others asks again.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_coordinator.core.classic.group import ClassicGroup
from millstream_coordinator.core.classic.messages import (
    JoinAnswer,
    JoinRequest,
    LeavingMember,
    LeftMember,
    SyncAnswer,
    SyncRequest,
)
from millstream_coordinator.core.commands.classic_members import (
    on_classic_heartbeat,
    on_classic_join,
    on_classic_leave,
    on_classic_sync,
)
from millstream_coordinator.core.commands.consumer_heartbeat import on_heartbeat
from millstream_coordinator.core.commands.consumer_leaving import remove_silent
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.shell.clock import SteadyClock
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

PAUSE_MS = 2_000
"""Woken so much too late, the process stood still: members may have spoken while it could not hear."""
RETRY_MS = 1_000

T = TypeVar("T")


class ConsumerGroups:
    def __init__(
        self,
        replicated: Replicated[GroupShard, ShardRecord],
        clock: SteadyClock,
        tasks: asyncio.TaskGroup,
        image: Callable[[], Image],
        *,
        on_classic: Callable[[ClassicGroup], None],
    ) -> None:
        """`on_classic` is told of a classic group that was ended or begun by what happened here."""
        self._shard = replicated.machine
        self._replicated = replicated
        self._clock = clock
        self._tasks = tasks
        self._image = image
        self._on_classic = on_classic
        self._armed: tuple[int, asyncio.TimerHandle] | None = None
        self._closed = False
        self.arm()

    async def heartbeat(self, request: HeartbeatRequest) -> HeartbeatAnswer:
        """NotCommitted if this shard is not ours any more."""
        return await self._execute(
            request.group_id, lambda shard, now_ms: on_heartbeat(shard, request, self._image(), now_ms)
        )

    async def classic_join(self, group_id: str, request: JoinRequest) -> JoinAnswer | None:
        """By a member that speaks the classic protocol; None if the group made room for a classic one."""
        return await self._execute(
            group_id,
            lambda shard, now_ms: on_classic_join(shard, group_id, request, self._image(), now_ms),
        )

    async def classic_sync(self, group_id: str, request: SyncRequest) -> SyncAnswer:
        return await self._execute(
            group_id,
            lambda shard, now_ms: on_classic_sync(shard, group_id, request, self._image(), now_ms),
        )

    def classic_heartbeat(self, group_id: str, member_id: str, generation: int, instance_id: str | None) -> ErrorCode:
        error = self._replicated.answer(
            lambda shard, now_ms: on_classic_heartbeat(
                shard, group_id, member_id, generation, instance_id, self._image(), now_ms
            )
        )
        self.arm()
        return error

    async def classic_leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> tuple[LeftMember, ...]:
        return await self._execute(
            group_id,
            lambda shard, now_ms: on_classic_leave(shard, group_id, leaving, self._image(), now_ms),
        )

    async def _execute(self, group_id: str, decide: Callable[[GroupShard, int], Decision[ShardRecord, T]]) -> T:
        before = self._shard.groups.get(group_id)
        try:
            return await self._replicated.execute(decide)
        finally:
            self.arm()
            self._tell(before, group_id)

    def _tell(self, before: ClassicGroup | None, group_id: str) -> None:
        after = self._shard.groups.get(group_id)
        for group in (before, after):
            if group is not None and before is not after and not self._closed:
                self._on_classic(group)

    def close(self) -> None:
        self._closed = True
        if self._armed is not None:
            self._armed[1].cancel()

    def arm(self, at_least_ms: int = 0) -> None:
        """Have the shard woken when the first member may have been silent for too long."""
        deadline_ms = self._shard.sessions.deadline()
        if deadline_ms is None or self._closed:
            return
        deadline_ms = max(deadline_ms, at_least_ms)
        if self._armed is not None:
            if self._armed[0] <= deadline_ms:
                return
            self._armed[1].cancel()
        delay_s = max(0, deadline_ms - self._clock.now_ms()) / 1000
        self._armed = deadline_ms, asyncio.get_running_loop().call_later(delay_s, self._wake, deadline_ms)

    def _wake(self, due_ms: int) -> None:
        self._armed = None
        elapsed_ms = self._clock.now_ms() - due_ms
        if elapsed_ms > PAUSE_MS:
            logger.warning("consumer sessions prolonged reason=woken_late ms=%d", elapsed_ms)
            self._shard.sessions.pause(elapsed_ms)
        self._tasks.create_task(self._remove_silent())

    async def _remove_silent(self) -> None:
        retry_ms = 0
        try:
            removed = await self._replicated.execute(lambda shard, now_ms: remove_silent(shard, self._image(), now_ms))
        except NotCommitted:
            if self._replicated.failure is not None:
                return  # the shard is being dropped: its next owner waits for the members anew
            retry_ms = self._clock.now_ms() + RETRY_MS  # too many wait for the log already
        else:
            for group_id in {group_id for group_id, _ in removed}:
                self._tell(None, group_id)
            if removed:
                names = ",".join(f"{group_id}/{member_id}" for group_id, member_id in removed)
                logger.info("members timed out protocol=consumer members=%s", names)
        self.arm(retry_ms)
