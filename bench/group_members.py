"""Members of consumer groups that do nothing but be members, thousands in one process: what a coordinator sees of a fleet."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client
from millstream_runtime.world import RealWorld
from millstream_wire.codec import encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from millstream_wire.messages.consumer_group_heartbeat import TopicPartitions
from millstream_wire.messages.join_group import JoinGroupRequestProtocol
from millstream_wire.messages.leave_group import MemberIdentity
from millstream_wire.messages.sync_group import SyncGroupRequestAssignment
from millstream_wire.stored import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from millstream_wire.stored.consumer_protocol import TopicPartition

TIMEOUT_MS = 120_000
CLASSIC_HEARTBEAT_S = 3.0
"""What Java clients do by default; the consumer protocol's interval is the coordinator's to say."""
CONNECTING_MAX = 50
RETRY_S = 0.1
REBALANCE_TIMEOUT_MS = 300_000

_world = RealWorld(SocketNetwork())
_connecting = asyncio.Semaphore(CONNECTING_MAX)


class Member:
    """`refused` is how often it had to ask again; `assigned_at` is when it last got an assignment, of `partitions` partitions."""

    def __init__(self, address: tuple[str, int], group: str, name: str, topic: str, partitions: int) -> None:
        self._address, self.group, self.name = address, group, name
        self._topic, self._topic_partitions = topic, partitions
        self._client: Client | None = None
        self.latencies_s: list[float] = []
        self.partitions: frozenset[int] = frozenset()
        self.epoch = self.refused = 0
        self.joined_at = self.assigned_at = 0.0

    async def connect(self) -> None:
        async with _connecting:
            self._client = await Client.connect(_world, *self._address, client_id="bench")

    async def ask(self, request: object) -> Any:
        """As clients do, ask again while the coordinator has too much to do."""
        assert self._client is not None
        while True:
            answer = await self._client.request(request, timeout_ms=TIMEOUT_MS)
            if answer.error_code != ErrorCode.COORDINATOR_NOT_AVAILABLE:
                return answer
            self.refused += 1
            request = self.whole(request)
            await asyncio.sleep(RETRY_S)

    def whole(self, request: Any) -> Any:
        """The request when it is sent again: nobody knows what of it was understood."""
        return request

    async def timed(self, request: object) -> Any:
        started = time.monotonic()
        answer = await self.ask(request)
        self.latencies_s.append(time.monotonic() - started)
        return answer

    async def run(self) -> None:
        """Join, and be a member until cancelled."""
        raise NotImplementedError

    async def leave(self) -> None:
        if self._client is None or self._client.closed:
            return
        try:
            await self.ask(self.farewell())
        finally:
            await self._client.close()

    def farewell(self) -> Any:
        raise NotImplementedError


class ClassicMember(Member):
    protocol = "classic"
    member_id = ""

    async def run(self) -> None:
        await self._join()
        while True:
            await asyncio.sleep(CLASSIC_HEARTBEAT_S)
            request = HeartbeatRequest(group_id=self.group, generation_id=self.epoch, member_id=self.member_id)
            answer = await self.timed(request)
            if answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                await self._join()
            elif answer.error_code != ErrorCode.NONE:
                raise RuntimeError(f"{self.name}: {ErrorCode(answer.error_code).name}")

    def farewell(self) -> LeaveGroupRequest:
        return LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.member_id)])

    async def _join(self) -> None:
        self.joined_at = self.joined_at or time.monotonic()
        subscription = encode_stored(ConsumerProtocolSubscription(topics=[self._topic]), 1)
        while True:
            joined = await self.ask(
                JoinGroupRequest(
                    group_id=self.group,
                    session_timeout_ms=45_000,
                    rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                    member_id=self.member_id,
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
                )
            )
            self.member_id, self.epoch = joined.member_id, joined.generation_id
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                continue
            if joined.error_code == ErrorCode.NONE and await self._sync(joined):
                return

    async def _sync(self, joined: Any) -> bool:
        names = sorted(member.member_id for member in joined.members)
        shares = {name: range(number, self._topic_partitions, len(names)) for number, name in enumerate(names)}
        answer = await self.ask(
            SyncGroupRequest(
                group_id=self.group,
                generation_id=self.epoch,
                member_id=self.member_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[
                    SyncGroupRequestAssignment(member_id=name, assignment=self._encoded(share))
                    for name, share in shares.items()
                ],
            )
        )
        if answer.error_code != ErrorCode.NONE:
            return False
        self.assigned_at = time.monotonic()
        return True

    def _encoded(self, share: Sequence[int]) -> bytes:
        listed = [TopicPartition(topic=self._topic, partitions=list(share))]
        return encode_stored(ConsumerProtocolAssignment(assigned_partitions=listed), 1)


class ConsumerMember(Member):
    protocol = "consumer"
    topic_id = UUID(int=0)

    async def run(self) -> None:
        self.joined_at = time.monotonic()
        answer = await self._heartbeat(
            topic_partitions=[], subscribed_topic_names=[self._topic], rebalance_timeout_ms=REBALANCE_TIMEOUT_MS
        )
        while True:
            if answer is not None and not self._take(answer):
                await asyncio.sleep(answer.heartbeat_interval_ms / 1000)
            answer = await self._heartbeat(topic_partitions=self._owned())

    def whole(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatRequest:
        request.subscribed_topic_names, request.rebalance_timeout_ms = [self._topic], REBALANCE_TIMEOUT_MS
        request.topic_partitions = self._owned()
        return request

    def farewell(self) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(group_id=self.group, member_id=self.name, member_epoch=-1)

    def _take(self, answer: Any) -> bool:
        """Whether it has something to say at once: that it has, or gave up, what it was told."""
        self.epoch = answer.member_epoch
        assignment = answer.assignment
        if assignment is None:
            return False
        told = frozenset(number for topic in assignment.topic_partitions for number in topic.partitions)
        has_changed = told != self.partitions
        self.partitions, self.assigned_at = told, time.monotonic()
        for topic in assignment.topic_partitions:
            self.topic_id = topic.topic_id
        return has_changed

    def _owned(self) -> list[TopicPartitions]:
        if not self.partitions:
            return []
        return [TopicPartitions(topic_id=self.topic_id, partitions=sorted(self.partitions))]

    async def _heartbeat(self, **said: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.name,
            member_epoch=self.epoch,
            **said,
        )
        answer = await self.timed(request)
        if answer.error_code != ErrorCode.NONE:
            raise RuntimeError(f"{self.name}: {ErrorCode(answer.error_code).name} {answer.error_message}")
        return answer


async def coordinators_of(bootstrap: str, groups: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Waits until every group has one that serves it."""
    host, port = bootstrap.split(",")[0].split(":")
    client = await Client.connect(_world, host, int(port), client_id="bench")
    try:
        while True:
            answer = await client.request(FindCoordinatorRequest(coordinator_keys=list(groups)), timeout_ms=TIMEOUT_MS)
            if all(each.error_code == ErrorCode.NONE for each in answer.coordinators):
                return {each.key: (each.host, each.port) for each in answer.coordinators}
            await asyncio.sleep(0.2)
    finally:
        await client.close()


async def delete_groups(addresses: Mapping[str, tuple[str, int]]) -> None:
    """They are empty, but what they were is still in the log and in memory."""
    for address in set(addresses.values()):
        client = await Client.connect(_world, *address, client_id="bench")
        names = [name for name, its in addresses.items() if its == address]
        answer = await client.request(DeleteGroupsRequest(groups_names=names), timeout_ms=TIMEOUT_MS)
        await client.close()
        errors = {ErrorCode(each.error_code).name for each in answer.results} - {"NONE", "GROUP_ID_NOT_FOUND"}
        if errors:
            raise RuntimeError(f"groups not deleted: {errors}")


async def until(is_true: Callable[[], bool], running: Sequence[asyncio.Task[None]], within_s: float) -> None:
    """Look again and again; a member that failed fails the run."""
    deadline = time.monotonic() + within_s
    while not is_true():
        for task in running:
            if task.done():
                task.result()
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {within_s:.0f} s")
        await asyncio.sleep(0.02)
