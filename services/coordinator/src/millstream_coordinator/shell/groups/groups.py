"""The groups of one shard in service: each request goes to where the protocol is served that the group speaks."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar, assert_never

from millstream_cluster.decision import Decision
from millstream_cluster.ids import OFFSETS_TOPIC
from millstream_cluster.image import Image
from millstream_coordinator.core.classic.joining import refusal_of_entry
from millstream_coordinator.core.classic.messages import (
    JoinAnswer,
    JoinRequest,
    LeavingMember,
    LeftMember,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupProtocol, GroupShard
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.shell.clock import SteadyClock
from millstream_coordinator.shell.groups.classic import ClassicGroups
from millstream_coordinator.shell.groups.consumer import ConsumerGroups
from millstream_coordinator.shell.groups.share import ShareGroups
from millstream_coordinator.shell.shards.journal import Codec
from millstream_coordinator.shell.shards.owned import ShardKind
from millstream_coordinator.shell.share_states.nodes import ShareStateNodes
from millstream_runtime.replicated import Replicated
from millstream_wire.errors import ErrorCode

T = TypeVar("T")

NOBODY_WAITS = Ticket(0)
"""For requests of classic members to a consumer group, which are answered at once."""


class Groups:
    def __init__(
        self,
        replicated: Replicated[GroupShard, ShardRecord],
        clock: SteadyClock,
        tasks: asyncio.TaskGroup,
        barrier: ShardClaimed,
        image: Callable[[], Image],
        states: ShareStateNodes,
    ) -> None:
        self.shard = replicated.machine
        self._replicated = replicated
        self._barrier = barrier
        self._classic = ClassicGroups(replicated, clock, tasks, image)
        self.consumers = ConsumerGroups(replicated, clock, tasks, image, on_classic=self._classic.migrated)
        self.shares = ShareGroups(replicated, tasks, image, states, on_sessions=self.consumers.arm)

    # ---- requests of the classic protocol ----

    async def join(self, group_id: str, request: Callable[[Ticket], JoinRequest]) -> JoinAnswer:
        """NotCommitted if this shard is not ours any more; so for `sync` and `leave`."""
        answer = await self._join(group_id, request)
        await self._replicated.confirm()
        return answer

    async def _join(self, group_id: str, request: Callable[[Ticket], JoinRequest]) -> JoinAnswer:
        unwaiting = request(NOBODY_WAITS)
        limits = self._classic.limits_of(group_id)
        if error := refusal_of_entry(unwaiting, limits, is_group=self.shard.knows(group_id)):
            return JoinAnswer(error=error, member_id=unwaiting.member_id)
        while True:
            match self.shard.speaks(group_id):
                case GroupProtocol.CONSUMER:
                    joined = await self.consumers.classic_join(group_id, unwaiting)
                    if joined is not None:
                        return joined  # else the group has made room for a classic one
                case GroupProtocol.SHARE:
                    return JoinAnswer(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
                case GroupProtocol.CLASSIC:
                    return await self._classic.join(group_id, request)
                case protocol:
                    assert_never(protocol)

    async def sync(self, group_id: str, request: Callable[[Ticket], SyncRequest]) -> SyncAnswer:
        if self.shard.speaks(group_id) is GroupProtocol.CONSUMER:
            answer = await self.consumers.classic_sync(group_id, request(NOBODY_WAITS))
        else:
            answer = await self._classic.sync(group_id, request)
        await self._replicated.confirm()
        return answer

    async def leave(self, group_id: str, leaving: Sequence[LeavingMember]) -> tuple[LeftMember, ...] | ErrorCode:
        left: tuple[LeftMember, ...] | ErrorCode
        if self.shard.speaks(group_id) is GroupProtocol.CONSUMER:
            left = await self.consumers.classic_leave(group_id, leaving)
        else:
            left = self._classic.leave(group_id, leaving)
        await self._replicated.confirm()
        return left

    def heartbeat(self, group_id: str, member_id: str, generation: int, instance_id: str | None) -> ErrorCode:
        """What the member is to be told; unless `is_certain`, only after `confirm`."""
        if self.shard.speaks(group_id) is GroupProtocol.CONSUMER:
            return self.consumers.classic_heartbeat(group_id, member_id, generation, instance_id)
        return self._classic.heartbeat(group_id, member_id, generation, instance_id)

    def reconsider(self, group_id: str) -> None:
        """The group's configuration changed."""
        self._classic.reconsider(group_id)

    # ---- the log ----

    async def execute(self, decide: Callable[[GroupShard, int], Decision[ShardRecord, T]]) -> T:
        """Decide, and return the reply once it is committed; NotCommitted if this shard is not ours any more."""
        return await self._replicated.execute(decide)

    async def read(self, look: Callable[[GroupShard], T]) -> T:
        """Look at the shard, and return what was seen once it is certain that nobody else owned it by then."""
        return await self._replicated.execute(lambda shard, _: Decision((self._barrier,), look(shard)))

    @property
    def is_certain(self) -> bool:
        """Whether nobody else can own this shard, so that what is in memory may be told."""
        return self._replicated.is_certain

    async def confirm(self) -> None:
        """Return once it is certain that nobody else owned this shard when this was called; else NotCommitted."""
        await self._replicated.confirm()

    def close(self, reason: str) -> None:
        """The shard is not ours any more: everyone who waits has to look for its new owner."""
        self.consumers.close()
        self.shares.close()
        self._classic.close(reason)


def group_shards(
    limits: GroupLimits, clock: SteadyClock, image: Callable[[], Image], states: ShareStateNodes
) -> ShardKind[GroupShard, Groups]:
    """The shards that the partitions of `__consumer_offsets` are."""

    def serve(
        replicated: Replicated[GroupShard, ShardRecord], tasks: asyncio.TaskGroup, barrier: ShardClaimed
    ) -> Groups:
        replicated.machine.begin(clock.now_ms())
        return Groups(replicated, clock, tasks, barrier, image, states)

    return ShardKind(
        topic=OFFSETS_TOPIC,
        codec=Codec(encode_record, decode_record),
        new_machine=lambda: GroupShard(limits),
        serve=serve,
    )
