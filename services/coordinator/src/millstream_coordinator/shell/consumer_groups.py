"""The consumer groups of one shard in service: takes heartbeats to the shard and wakes it when members fell silent.

Nobody waits here but for the log: a member that has to wait for others asks again.
"""

import asyncio
import logging
from collections.abc import Callable

from millstream_cluster.image import Image
from millstream_coordinator.core.consumer.conversion import make_room_for_classic
from millstream_coordinator.core.consumer.heartbeat import on_heartbeat
from millstream_coordinator.core.consumer.leaving import on_leave, remove_silent
from millstream_coordinator.core.consumer.messages import HeartbeatAnswer, HeartbeatRequest
from millstream_coordinator.core.records import ShardRecord
from millstream_coordinator.core.shard import Shard
from millstream_coordinator.shell.clock import SteadyClock
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

PAUSE_MS = 2_000
"""Woken so much too late, the process stood still: members may have spoken while it could not hear."""
RETRY_MS = 1_000


class ConsumerGroups:
    def __init__(
        self,
        replicated: Replicated[Shard, ShardRecord],
        clock: SteadyClock,
        tasks: asyncio.TaskGroup,
        image: Callable[[], Image],
    ) -> None:
        self._shard = replicated.machine
        self._replicated = replicated
        self._clock = clock
        self._tasks = tasks
        self._image = image
        self._armed: tuple[int, asyncio.TimerHandle] | None = None
        self._closed = False
        self._arm()

    async def heartbeat(self, request: HeartbeatRequest) -> HeartbeatAnswer:
        """NotCommitted if this shard is not ours any more."""
        if request.member_epoch < 0:
            return await self._replicated.execute(lambda shard, _: on_leave(shard, request))
        answer = self._replicated.execute(lambda shard, now_ms: on_heartbeat(shard, request, self._image(), now_ms))
        try:
            return await answer
        finally:
            self._arm()

    async def make_room_for_classic(self, group_id: str) -> ErrorCode:
        """Before a member joins by the classic protocol; why it cannot, or NONE."""
        while group_id in self._shard.consumers:
            error = await self._replicated.execute(lambda shard, _: make_room_for_classic(shard, group_id))
            if error is not ErrorCode.NONE:
                return error
        return ErrorCode.NONE

    def close(self) -> None:
        self._closed = True
        if self._armed is not None:
            self._armed[1].cancel()

    def _arm(self, at_least_ms: int = 0) -> None:
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
            removed = await self._replicated.execute(remove_silent)
        except NotCommitted:
            if self._replicated.failure is not None:
                return  # the shard is being dropped: its next owner waits for the members anew
            retry_ms = self._clock.now_ms() + RETRY_MS  # too many wait for the log already
        else:
            if removed:
                names = ",".join(f"{group_id}/{member_id}" for group_id, member_id in removed)
                logger.info("members timed out protocol=consumer members=%s", names)
        self._arm(retry_ms)
