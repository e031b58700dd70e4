"""A member of a consumer group (KIP-848) in the simulation: heartbeats, gives up and takes what it is told, reads, commits."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.ledger import Ledger
from millstream_simulation.ownership import Ownership, Partition
from millstream_simulation.story import Story, Violation
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    ConsumerGroupHeartbeatRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from millstream_wire.messages.consumer_group_heartbeat import TopicPartitions
from millstream_wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from millstream_wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from millstream_wire.records import Record

PAUSE_S = 0.2
ROUND_S = 0.15
HEARTBEAT_S = 0.5
COPY_EVERY = 2
"""The other fetches go to leaders: what a follower has not heard of yet is read all the same."""
REBALANCE_TIMEOUT_MS = 6_000
LEAVING_EPOCH = -1
STATIC_LEAVING_EPOCH = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    topics: tuple[str, ...] = ()
    regex: str | None = None
    assignor: str | None = None
    instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The member as it may sign for its partitions at a moment."""

    group: str
    member_id: str
    epoch: int
    instance_id: str | None


class Rewind(Exception):
    """What was read was not dealt with, or nobody knows: go on from the committed offset."""


class Handle(Protocol):
    """Deals with records, to be committed up to `next_offset`; returns once that is done, or raises Rewind."""

    def __call__(
        self, member: Identity, partition: Partition, records: Sequence[Record], next_offset: int
    ) -> Awaitable[None]: ...


class _Fenced(Exception):
    """The coordinator does not take us for a member in our epoch."""


class Consumer:
    """`handle`: what is done with records instead of committing their offsets; it stands in for a transaction."""

    def __init__(
        self,
        name: str,
        member_id: str,
        group: str,
        subscription: Subscription,
        clients: Mapping[str, KafkaClient],
        ledgers: Mapping[str, Ledger],
        ownership: Ownership,
        story: Story,
        handle: Handle | None = None,
    ) -> None:
        self.name = name
        self.subscription = subscription
        self.stall_s = 0.0
        """Set by whoever makes trouble: so long the member does nothing at all, once, with records in its hands."""
        self._member_id = member_id
        self._group = group
        self._clients = clients
        self._any = next(iter(clients.values()))
        self._ledgers = ledgers
        self._ownership = ownership
        self._story = story
        self._handle: Callable[[Partition, Sequence[Record], int], Awaitable[None]] = self._commit
        if handle is not None:
            self._handle = lambda partition, records, end: handle(self._identity(), partition, records, end)
        self._epoch = 0
        self._told: frozenset[Partition] = frozenset()
        self._positions: dict[Partition, int] = {}
        self._lost: set[Partition] = set()
        """Partitions in which it has to look again where to go on."""
        self._topic_ids: dict[UUID, str] = {}
        self._turns = 0
        """How often it has read: some reads are from followers."""
        self._says_everything = True
        self._said: frozenset[Partition] | None = None
        self._stopping = False

    @property
    def has(self) -> frozenset[Partition]:
        return frozenset(self._positions)

    @property
    def settled(self) -> bool:
        return self._epoch > 0 and self.has == self._told

    def stop(self) -> None:
        self._stopping = True

    async def run(self) -> None:
        """Until told to stop; a cancelled one has crashed."""
        try:
            while not self._stopping:
                try:
                    await self._live()
                except NotNow:
                    self._says_everything = True
                    await asyncio.sleep(PAUSE_S)
                except _Fenced:
                    self._lose_everything()
                    await asyncio.sleep(PAUSE_S)
            await self._leave()
        finally:
            self._lose_everything()
            for client in self._clients.values():
                await client.close()

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        beat_s = -1.0
        while not self._stopping:
            if loop.time() - beat_s >= HEARTBEAT_S or self._said != self.has:
                await self._heartbeat()
                beat_s = loop.time()
                await self._reconcile()
            for partition in sorted(self._positions):
                await self._consume(partition)
            await asyncio.sleep(ROUND_S)

    # The group

    async def _heartbeat(self) -> None:
        asked_s, holds = asyncio.get_running_loop().time(), self.has
        answer = await self._any.ask_coordinator(self._group, self._heartbeat_request(holds))
        self._judge(answer.error_code)
        self._ownership.note_epoch(self._member_id, answer.member_epoch)
        self._epoch = answer.member_epoch
        self._says_everything = False
        self._said = holds
        if answer.assignment is not None:
            self._told = await self._named(answer.assignment.topic_partitions)
            self._story.add("told", member=self.name, epoch=self._epoch, partitions=sorted(self._told))
        self._confirmed(holds & self._told, asked_s)

    def _heartbeat_request(self, holds: frozenset[Partition]) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member_id,
            member_epoch=self._epoch,
            instance_id=self.subscription.instance_id,
        )
        if self._says_everything or self._epoch == 0:
            request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
            request.subscribed_topic_names = list(self.subscription.topics)
            request.subscribed_topic_regex = self.subscription.regex or ""
            request.server_assignor = self.subscription.assignor
        if self._says_everything or self._epoch == 0 or holds != self._said:
            ids = {name: topic_id for topic_id, name in self._topic_ids.items()}
            by_topic: dict[str, list[int]] = {}
            for topic, index in sorted(holds):
                by_topic.setdefault(topic, []).append(index)
            request.topic_partitions = [
                TopicPartitions(topic_id=ids[topic], partitions=indexes) for topic, indexes in by_topic.items()
            ]
        return request

    def change(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self._says_everything = True

    async def _reconcile(self) -> None:
        """Give up first; what is new is read from where the group came to."""
        for partition in sorted(self.has - self._told):
            del self._positions[partition]
            self._ownership.note_given_up(self._member_id, partition)
        if new := sorted(self._told - self.has):
            self._positions |= await self._committed(new)

    async def _leave(self) -> None:
        static = self.subscription.instance_id is not None
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self._member_id,
            instance_id=self.subscription.instance_id,
            member_epoch=STATIC_LEAVING_EPOCH if static else LEAVING_EPOCH,
        )
        self._lose_everything()
        try:
            await self._any.ask_coordinator(self._group, request)
            self._story.add("left", member=self.name)
        except NotNow:
            return  # its session ends by itself

    def _lose_everything(self) -> None:
        for partition in self._positions:
            self._ownership.note_given_up(self._member_id, partition)
        self._ownership.note_end_of_life(self._member_id)
        self._positions.clear()
        self._lost.clear()
        self._told = frozenset()
        self._epoch = 0
        self._says_everything = True

    def _identity(self) -> Identity:
        return Identity(
            group=self._group,
            member_id=self._member_id,
            epoch=self._epoch,
            instance_id=self.subscription.instance_id,
        )

    # Records

    async def _consume(self, partition: Partition) -> None:
        topic, index = partition
        try:
            if partition in self._lost:
                self._positions |= await self._committed([partition])
                self._lost.discard(partition)
            self._turns += 1
            client, position = self._clients[topic], self._positions[partition]
            from_copy = self._turns % COPY_EVERY == 0 and client.has_copies(index)
            fetched = await client.fetch(index, position, max_wait_ms=30, from_copy=from_copy)
        except NotNow:
            return
        for record in fetched.records:
            self._ledgers[topic].note_read(index, record.offset, record.value or b"")
        if not fetched.records:
            return
        if from_copy:
            self._story.note("read from a follower")
        if self.stall_s:
            stall_s, self.stall_s = self.stall_s, 0.0
            await asyncio.sleep(stall_s)
        try:
            await self._handle(partition, fetched.records, fetched.next_offset)
        except Rewind:
            self._lost.add(partition)
            return
        self._positions[partition] = fetched.next_offset

    async def _commit(self, partition: Partition, records: Sequence[Record], offset: int) -> None:
        topic, index = partition
        client, ledger = self._clients[topic], self._ledgers[topic]
        name, topic_id = client.named_topic()
        wanted = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=self._epoch,
            member_id=self._member_id,
            group_instance_id=self.subscription.instance_id,
            topics=[OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=[wanted])],
        )
        asked_s = asyncio.get_running_loop().time()
        ledger.note_processed(self._group, index, (record.offset for record in records))
        ledger.note_commit_sent(self._group, index, offset)
        answer = await self._any.ask_coordinator(self._group, request)
        error = ErrorCode(answer.topics[0].partitions[0].error_code)
        ledger.note_commit_answered(self._group, index, offset, error)
        if error is ErrorCode.STALE_MEMBER_EPOCH:
            raise NotNow(error.name)  # the next heartbeat brings us to the epoch
        self._judge(error)
        ledger.note_commit(self._group, index, offset)
        self._confirmed([partition], asked_s)
        self._story.add("committed", member=self.name, topic=topic, partition=index, offset=offset)

    async def _committed(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        positions: dict[Partition, int] = {}
        for topic in sorted({topic for topic, _ in partitions}):
            ledger, client = self._ledgers[topic], self._clients[topic]
            await client.refresh()
            name, topic_id = client.named_topic()
            indexes = [index for each, index in partitions if each == topic]
            asked = OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=indexes)
            group = OffsetFetchRequestGroup(
                group_id=self._group, member_id=self._member_id, member_epoch=self._epoch, topics=[asked]
            )
            at_least = {index: ledger.committed(self._group, index) for index in indexes}
            request = OffsetFetchRequest(groups=[group], require_stable=True)
            answer = (await self._any.ask_coordinator(self._group, request)).groups[0]
            if answer.error_code == ErrorCode.STALE_MEMBER_EPOCH:
                raise NotNow("stale")
            self._judge(answer.error_code)
            for each in answer.topics[0].partitions:
                if each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
                    raise NotNow("unstable")
                self._judge(each.error_code)
                index, offset = each.partition_index, each.committed_offset
                ledger.note_fetched_commit(self._group, index, at_least=at_least[index], offset=offset)
                positions[topic, index] = max(0, offset)
        return positions

    # Telling

    def _confirmed(self, partitions: Any, asked_s: float) -> None:
        answered_s = asyncio.get_running_loop().time()
        for partition in partitions:
            self._ownership.note_confirmed(self._member_id, partition, asked_s=asked_s, answered_s=answered_s)

    async def _named(self, told: Sequence[TopicPartitions]) -> frozenset[Partition]:
        topics = {each.topic_id: await self._topic(each.topic_id) for each in told}
        return frozenset((topics[each.topic_id], index) for each in told for index in each.partitions)

    async def _topic(self, topic_id: UUID) -> str:
        if topic_id not in self._topic_ids:
            for name, client in self._clients.items():
                try:
                    await client.refresh()
                except NotNow:
                    continue
                self._topic_ids[client.named_topic()[1]] = name
        if topic_id not in self._topic_ids:
            self._says_everything = True  # to be told again
            raise NotNow("an assignment in a topic that is not known yet")
        return self._topic_ids[topic_id]

    def _judge(self, error_code: int) -> None:
        match ErrorCode(error_code):
            case ErrorCode.NONE:
                return
            case ErrorCode.NOT_COORDINATOR | ErrorCode.COORDINATOR_NOT_AVAILABLE:
                self._any.forget_coordinator()
                raise NotNow
            case ErrorCode.COORDINATOR_LOAD_IN_PROGRESS | ErrorCode.UNKNOWN_TOPIC_ID:
                raise NotNow
            case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise NotNow
            case ErrorCode.UNRELEASED_INSTANCE_ID if self._epoch == 0:
                raise NotNow  # whoever we were before has to be taken for gone first
            case (
                ErrorCode.FENCED_MEMBER_EPOCH
                | ErrorCode.UNKNOWN_MEMBER_ID
                | ErrorCode.GROUP_ID_NOT_FOUND
                | ErrorCode.FENCED_INSTANCE_ID
            ):
                raise _Fenced
            case error:
                raise Violation(f"{self.name} was told {error.name}")
