"""A member of a classic consumer group in the simulation: joins, shares out partitions as leader, reads, commits."""

import asyncio
import json

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.ledger import Ledger
from millstream_simulation.story import Story
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from millstream_wire.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from millstream_wire.messages.leave_group import MemberIdentity
from millstream_wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from millstream_wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from millstream_wire.messages.sync_group import SyncGroupRequestAssignment

PAUSE_S = 0.2
HEARTBEAT_S = 0.5
SESSION_TIMEOUT_MS = 6_000
REBALANCE_TIMEOUT_MS = 8_000
PROTOCOL = "share"


class _Rejoin(Exception):
    """This generation is over for us."""


class Member:
    def __init__(
        self, name: str, group: str, client: KafkaClient, partitions: int, ledger: Ledger, story: Story
    ) -> None:
        self.stall_s = 0.0
        """Set by whoever makes trouble: so long the member does nothing at all, once, with records in its hands."""
        self._name = name
        self._group = group
        self._client = client
        self._partitions = partitions
        self._ledger = ledger
        self._story = story
        self._member_id = ""
        self._generation = -1
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True

    async def run(self) -> None:
        try:
            while not self._stopping:
                try:
                    await self._live_one_generation()
                except (NotNow, _Rejoin):
                    await asyncio.sleep(PAUSE_S)
            await self._leave()
        finally:
            await self._client.close()

    async def _live_one_generation(self) -> None:
        joined = await self._join()
        mine = await self._sync(joined)
        self._story.add("assigned", member=self._name, generation=self._generation, partitions=mine)
        positions = await self._committed(mine)
        last_beat_s = asyncio.get_running_loop().time()
        while not self._stopping:
            for partition in mine:
                await self._consume(partition, positions)
            now_s = asyncio.get_running_loop().time()
            if now_s - last_beat_s >= HEARTBEAT_S:
                last_beat_s = now_s
                await self._heartbeat()
            await asyncio.sleep(0.1)

    async def _join(self) -> JoinGroupResponse:
        while True:
            request = JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                member_id=self._member_id,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=b"")],
            )
            answer: JoinGroupResponse = await self._client.ask_coordinator(
                self._group, request, timeout_ms=REBALANCE_TIMEOUT_MS + 5_000
            )
            if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = answer.member_id
                continue
            self._expect(answer.error_code)
            self._member_id = answer.member_id
            self._generation = answer.generation_id
            return answer

    async def _sync(self, joined: JoinGroupResponse) -> list[int]:
        assignments = []
        if joined.leader == joined.member_id:
            members = sorted(member.member_id for member in joined.members)
            assignments = [
                SyncGroupRequestAssignment(
                    member_id=member,
                    assignment=json.dumps(list(range(index, self._partitions, len(members)))).encode(),
                )
                for index, member in enumerate(members)
            ]
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self._generation,
            member_id=self._member_id,
            protocol_type="consumer",
            protocol_name=PROTOCOL,
            assignments=assignments,
        )
        answer = await self._client.ask_coordinator(self._group, request, timeout_ms=REBALANCE_TIMEOUT_MS + 5_000)
        self._expect(answer.error_code)
        mine: list[int] = json.loads(bytes(answer.assignment) or b"[]")
        return mine

    async def _committed(self, partitions: list[int]) -> dict[int, int]:
        if not partitions:
            return {}
        await self._client.refresh()
        name, topic_id = self._client.named_topic()
        topics = [OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=partitions)]
        group = OffsetFetchRequestGroup(group_id=self._group, topics=topics)
        at_least = {partition: self._ledger.committed(self._group, partition) for partition in partitions}
        answer = await self._client.ask_coordinator(
            self._group, OffsetFetchRequest(groups=[group], require_stable=True)
        )
        found = answer.groups[0]
        self._expect(found.error_code)
        positions = {}
        for each in found.topics[0].partitions:
            self._expect(each.error_code)
            self._ledger.note_fetched_commit(
                self._group, each.partition_index, at_least=at_least[each.partition_index], offset=each.committed_offset
            )
            positions[each.partition_index] = max(0, each.committed_offset)
        return positions

    async def _consume(self, partition: int, positions: dict[int, int]) -> None:
        """Read a little, and commit what was read."""
        try:
            records = (await self._client.fetch(partition, positions[partition], max_wait_ms=50)).records
        except NotNow:
            return
        for record in records:
            self._ledger.note_read(partition, record.offset, record.value or b"")
        if records:
            if self.stall_s:
                stall_s, self.stall_s = self.stall_s, 0.0
                await asyncio.sleep(stall_s)
            await self._commit(partition, records[-1].offset + 1)
            positions[partition] = records[-1].offset + 1

    async def _commit(self, partition: int, offset: int) -> None:
        name, topic_id = self._client.named_topic()
        wanted = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=self._generation,
            member_id=self._member_id,
            topics=[OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=[wanted])],
        )
        self._ledger.note_commit_sent(self._group, partition, offset)
        answer = await self._client.ask_coordinator(self._group, request)
        error = ErrorCode(answer.topics[0].partitions[0].error_code)
        self._ledger.note_commit_answered(self._group, partition, offset, error)
        self._expect(error)
        self._ledger.note_commit(self._group, partition, offset)
        self._story.add("committed", member=self._name, partition=partition, offset=offset)

    async def _heartbeat(self) -> None:
        request = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member_id)
        answer = await self._client.ask_coordinator(self._group, request)
        self._expect(answer.error_code)

    async def _leave(self) -> None:
        members = [MemberIdentity(member_id=self._member_id)]
        try:
            await self._client.ask_coordinator(self._group, LeaveGroupRequest(group_id=self._group, members=members))
        except NotNow:
            return  # the session ends by itself

    def _expect(self, error_code: int) -> None:
        match ErrorCode(error_code):
            case ErrorCode.NONE:
                return
            case ErrorCode.NOT_COORDINATOR | ErrorCode.COORDINATOR_NOT_AVAILABLE:
                self._client.forget_coordinator()
                raise NotNow
            case ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                raise NotNow
            case ErrorCode.UNKNOWN_MEMBER_ID:
                self._member_id = ""
                raise _Rejoin
            case _:
                raise _Rejoin
