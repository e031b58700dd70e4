"""The share groups of one shard in service: takes heartbeats to the shard, and has the state of partitions begun or deleted
where it is kept. What is to be done there is in the log before it is done, so that a new owner of the shard does the rest.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import UUID

from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_coordinator.core.commands.share_heartbeat import on_share_heartbeat
from millstream_coordinator.core.commands.share_partitions import (
    StateChange,
    begin_anew,
    begin_deletion,
    state_begun,
    state_deleted,
)
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer
from millstream_coordinator.core.group.partitions import TopicIdPartition
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.share.messages import ShareHeartbeatAnswer, ShareHeartbeatRequest
from millstream_coordinator.core.share_state.state import NOT_BEGUN
from millstream_coordinator.shell.share_states.nodes import ShareStateNodes
from millstream_runtime.replicated import NotCommitted, Replicated
from millstream_wire.errors import ErrorCode

logger = logging.getLogger(__name__)

JOINING_WAIT_S = 2.0
"""How long a new member's answer waits for the state of its partitions, so that it need not ask again for them."""

T = TypeVar("T")
Errors = dict[TopicIdPartition, ErrorCode]


class ShareGroups:
    def __init__(
        self,
        replicated: Replicated[GroupShard, ShardRecord],
        tasks: asyncio.TaskGroup,
        image: Callable[[], Image],
        states: ShareStateNodes,
        *,
        on_sessions: Callable[[], None],
    ) -> None:
        """`on_sessions` is told that a member's session may end earlier than any other's."""
        self._replicated = replicated
        self._tasks = tasks
        self._image = image
        self._states = states
        self._on_sessions = on_sessions
        self._beginning: dict[str, asyncio.Task[Errors]] = {}
        """By group: state is being begun."""

    async def heartbeat(self, request: ShareHeartbeatRequest) -> HeartbeatAnswer:
        """NotCommitted if this shard is not ours any more."""
        said = await self._beat(request)
        if not said.initializing:
            return said.answer
        unknown = dict.fromkeys(said.initializing, NOT_BEGUN)
        beginning = self._begin(request.group_id, unknown, said.state_epoch)
        if request.joins:
            await asyncio.wait([beginning], timeout=JOINING_WAIT_S)
            said = await self._beat(request)
        return said.answer

    async def alter(
        self, group_id: str, start_offsets: Mapping[TopicIdPartition, int], names: Mapping[UUID, str]
    ) -> StateChange | Errors:
        """Have an empty group go on at these offsets: what became of each, or why nothing was done."""
        change = await self._execute(lambda shard, _: begin_anew(shard, group_id, start_offsets, names))
        if change.error:
            return change
        if not names:
            return {}
        asked = {partition: start_offsets[partition] for partition in change.partitions}
        under_way = self._beginning.get(group_id)
        if under_way is not None:
            await asyncio.wait([under_way])
        beginning = self._begin(group_id, asked, change.state_epoch)
        await asyncio.wait([beginning])
        begun = {} if beginning.cancelled() else beginning.result()
        return {partition: begun.get(partition, ErrorCode.COORDINATOR_NOT_AVAILABLE) for partition in start_offsets}

    async def delete_state(self, group_id: str, topics: frozenset[UUID] | None) -> StateChange:
        """Delete the state that an empty group has of these topics, or all (None)."""
        image = self._image()
        change = await self._execute(lambda shard, _: begin_deletion(shard, group_id, topics, image))
        if change.error:
            return change
        deleted = await self._states.delete(group_id, change.partitions)
        left = {each[0] for each in change.partitions if deleted.get(each) is not ErrorCode.NONE}
        await self._execute(lambda shard, _: state_deleted(shard, group_id, change.topics - left))
        if left:
            return StateChange(ErrorCode.COORDINATOR_NOT_AVAILABLE, "Not all of the group's state could be deleted.")
        return change

    def close(self) -> None:
        """The shard is not ours any more: its new owner begins what is left."""
        for task in list(self._beginning.values()):
            task.cancel()

    async def _beat(self, request: ShareHeartbeatRequest) -> ShareHeartbeatAnswer:
        try:
            return await self._execute(lambda shard, now_ms: on_share_heartbeat(shard, request, self._image(), now_ms))
        finally:
            self._on_sessions()

    def _begin(
        self, group_id: str, start_offsets: Mapping[TopicIdPartition, int], state_epoch: int
    ) -> "asyncio.Task[Errors]":
        """Begin the state of these partitions, unless some of the group's is being begun: the rest is asked for again."""
        task = self._beginning.get(group_id)
        if task is None:
            task = self._tasks.create_task(self._begin_state(group_id, start_offsets, state_epoch))
            self._beginning[group_id] = task
            task.add_done_callback(lambda _: self._beginning.pop(group_id, None))
        return task

    async def _begin_state(
        self, group_id: str, start_offsets: Mapping[TopicIdPartition, int], state_epoch: int
    ) -> Errors:
        errors = await self._states.initialize(group_id, start_offsets, state_epoch=state_epoch)
        begun = [partition for partition, error in errors.items() if error is ErrorCode.NONE]
        if len(begun) < len(start_offsets):
            logger.warning(
                "share state not begun group=%s partitions=%d of=%d errors=%s",
                group_id,
                len(start_offsets) - len(begun),
                len(start_offsets),
                ",".join(sorted({error.name for error in errors.values() if error})) or "no answer",
            )
        try:
            await self._execute(lambda shard, _: state_begun(shard, group_id, begun))
        except NotCommitted:
            return {}  # whoever asks again, here or elsewhere, finds that it is to be begun
        return errors

    async def _execute(self, decide: Callable[[GroupShard, int], Decision[ShardRecord, T]]) -> T:
        return await self._replicated.execute(decide)
