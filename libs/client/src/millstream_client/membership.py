"""One member of a classic consumer group: joins, computes the assignment when it leads, keeps alive, leaves.

It says what to read and when that is no longer so; reading and committing is the consumer's.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from millstream_client.assignment import Subscriber, TopicPartition, assign_ranges
from millstream_client.coordination import NEVER, Coordination
from millstream_client.errors import InvalidData, KafkaError, Refused, check, code_of
from millstream_wire.codec import DecodeError, decode_embedded, encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.heartbeat import HeartbeatRequest
from millstream_wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from millstream_wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from millstream_wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from millstream_wire.stored.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from millstream_wire.stored.consumer_protocol import (
    TopicPartition as AssignedTopic,
)

ASSIGNOR = "range"
_PROTOCOL_TYPE = "consumer"
_PROTOCOL_VERSION = 1
_JOIN_GRACE_MS = 10_000
_LEAVE_TIMEOUT_MS = 5_000

# What tells a member that the group goes on without the generation it knows.
_JOIN_AGAIN = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.MEMBER_ID_REQUIRED,
    }
)
_FORGOTTEN = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})


@dataclass(frozen=True, slots=True)
class GroupConfig:
    group_id: str
    instance_id: str | None = None
    """Of a static member: it may come back within the session timeout without the others noticing."""
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    """How long the others wait, when the group's members change, for one that is busy with what it has read."""
    heartbeat_interval_ms: int = 3_000


class Membership:
    """Invariant: while `is_stable`, the assignment of the last `join` holds."""

    def __init__(
        self, coordination: Coordination, topics: Sequence[str], config: GroupConfig, changed: Callable[[], None]
    ) -> None:
        self._coordination = coordination
        self._cluster = coordination.cluster
        self._topics = list(topics)
        self._config = config
        self._changed = changed  # called when the assignment no longer holds
        self._member_id = ""
        self._generation_id = -1
        self._leads_counts: dict[str, int] = {}
        self.is_stable = False
        self.error: KafkaError | None = None

    async def join(self) -> list[TopicPartition]:
        """Enter the group's next generation; return what to read in it."""
        while True:
            answer = await self._send_join()
            code = code_of(answer.error_code)
            if code in _JOIN_AGAIN:
                self._member_id = answer.member_id if code is ErrorCode.MEMBER_ID_REQUIRED else ""
                continue
            check(code, subject=f"group {self._config.group_id}")
            self._member_id, self._generation_id = answer.member_id, answer.generation_id
            synced = await self._sync(await self._assignments(answer))
            code = code_of(synced.error_code)
            if code in _JOIN_AGAIN:
                self._forget_if(code)
                continue
            check(code, subject=f"group {self._config.group_id}")
            self.is_stable = True
            return _read_assignment(synced.assignment)

    async def keep_alive(self) -> None:
        """Send heartbeats until cancelled."""
        while True:
            await asyncio.sleep(self._config.heartbeat_interval_ms / 1000)
            if not self.is_stable:
                continue
            message = HeartbeatRequest(
                group_id=self._config.group_id,
                generation_id=self._generation_id,
                member_id=self._member_id,
                group_instance_id=self._config.instance_id,
            )
            generation_id = self._generation_id
            answer = await self._coordination.ask(message, _code_of, give_up_ms=NEVER)
            code = code_of(answer.error_code)
            if code is not ErrorCode.NONE and self.is_stable and generation_id == self._generation_id:
                self.lost(code)

    def lost(self, code: ErrorCode) -> None:
        """The group told us, by whatever answer, that our generation is over, or that we are out for good."""
        self.is_stable = False
        if code in _JOIN_AGAIN:
            self._forget_if(code)
        else:
            self.error = Refused(code, subject=f"group {self._config.group_id}")
        self._changed()

    async def check_partitions(self) -> None:
        """The leader asks for a new generation if topics have other partitions than when it assigned them."""
        if self._leads_counts and self.is_stable and self._leads_counts != await self._counts(self._leads_counts):
            self.is_stable = False
            self._changed()

    async def commit(self, offsets: dict[TopicPartition, int], *, give_up_ms: float) -> None:
        await self._coordination.commit(
            offsets, member_id=self._member_id, generation_id=self._generation_id, give_up_ms=give_up_ms
        )

    async def leave(self) -> None:
        """A static member stays: its id may come back."""
        self.is_stable = False
        if not self._member_id or self._config.instance_id is not None:
            return
        message = LeaveGroupRequest(
            group_id=self._config.group_id,
            member_id=self._member_id,
            members=[MemberIdentity(member_id=self._member_id, reason="the consumer closed")],
        )
        await self._coordination.ask(message, _code_of, timeout_ms=_LEAVE_TIMEOUT_MS, give_up_ms=_LEAVE_TIMEOUT_MS)
        self._member_id = ""

    # ---- joining ----

    async def _send_join(self) -> JoinGroupResponse:
        subscription = encode_stored(ConsumerProtocolSubscription(topics=self._topics), _PROTOCOL_VERSION)
        message = JoinGroupRequest(
            group_id=self._config.group_id,
            session_timeout_ms=self._config.session_timeout_ms,
            rebalance_timeout_ms=self._config.rebalance_timeout_ms,
            member_id=self._member_id,
            group_instance_id=self._config.instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=ASSIGNOR, metadata=subscription)],
        )
        timeout_ms = self._config.rebalance_timeout_ms + _JOIN_GRACE_MS
        answer: JoinGroupResponse = await self._coordination.ask(
            message, _code_of, timeout_ms=timeout_ms, give_up_ms=NEVER
        )
        return answer

    async def _assignments(self, answer: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """Everybody's share if we lead, nothing otherwise."""
        self._leads_counts = {}
        if answer.leader != answer.member_id or answer.skip_assignment:
            return []
        subscribers = [
            Subscriber(each.member_id, _read_subscription(each.metadata), each.group_instance_id)
            for each in answer.members
        ]
        self._leads_counts = await self._counts({name for each in subscribers for name in each.topics})
        assigned = assign_ranges(subscribers, self._leads_counts)
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=_write_assignment(partitions))
            for member, partitions in assigned.items()
        ]

    async def _counts(self, topics: Any) -> dict[str, int]:
        snapshot = await self._cluster.describe(sorted(topics))
        return {name: len(topic.partitions) for name, topic in snapshot.topics.items()}

    async def _sync(self, assignments: list[SyncGroupRequestAssignment]) -> Any:
        message = SyncGroupRequest(
            group_id=self._config.group_id,
            generation_id=self._generation_id,
            member_id=self._member_id,
            group_instance_id=self._config.instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=ASSIGNOR,
            assignments=assignments,
        )
        timeout_ms = self._config.rebalance_timeout_ms + _JOIN_GRACE_MS
        return await self._coordination.ask(message, _code_of, timeout_ms=timeout_ms, give_up_ms=NEVER)

    def _forget_if(self, code: ErrorCode) -> None:
        if code in _FORGOTTEN:
            self._generation_id = -1
            if code is ErrorCode.UNKNOWN_MEMBER_ID:
                self._member_id = ""


def _code_of(answer: Any) -> int:
    code: int = answer.error_code
    return code


def _write_assignment(partitions: Sequence[TopicPartition]) -> bytes:
    by_topic: dict[str, AssignedTopic] = {}
    for name, index in partitions:
        by_topic.setdefault(name, AssignedTopic(topic=name)).partitions.append(index)
    return encode_stored(ConsumerProtocolAssignment(assigned_partitions=list(by_topic.values())), _PROTOCOL_VERSION)


def _read_assignment(data: bytes) -> list[TopicPartition]:
    if not data:
        return []
    try:
        assignment = decode_embedded(ConsumerProtocolAssignment, data)
    except DecodeError as error:
        raise InvalidData(f"the group's leader wrote no assignment: {error}") from error
    return [TopicPartition(each.topic, index) for each in assignment.assigned_partitions for index in each.partitions]


def _read_subscription(data: bytes) -> list[str]:
    try:
        return list(decode_embedded(ConsumerProtocolSubscription, data).topics)
    except DecodeError as error:
        raise InvalidData(f"a member of the group wrote no subscription: {error}") from error
