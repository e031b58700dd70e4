"""A broker whose shares are loaded and stored, its members, and a coordinator that keeps what it is told to, or refuses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from millstream_broker.api import HANDLERS
from millstream_cluster import records as r
from millstream_cluster.ids import (
    SHARE_STATE_TOPIC,
    BrokerEpoch,
    LeaderEpoch,
    NodeId,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
)
from millstream_runtime.serving.context import Connection, RequestContext
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode, encode, encode_parts
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    ProduceRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    read_share_group_state,
    share_acknowledge,
    share_fetch,
    write_share_group_state,
)
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
COORDINATOR = 10_001
PATIENCE_S = 20


class Coordinator:
    """Keeps the state of every share partition as it is told, or answers with an error."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.states: dict[int, tuple[int, int]] = {}
        self.error = ErrorCode.NONE
        self.reads = 0
        self.writes = 0
        self._asked = asyncio.Event()

    async def until(self, *, reads: int = 0, writes: int = 0) -> None:
        while self.reads < reads or self.writes < writes:
            self._asked.clear()
            await self._asked.wait()

    def read(self, _: Any, request: Any, context: RequestContext) -> Any:
        self.reads += 1
        self._asked.set()
        topic = request.topics[0]
        batches = [
            read_share_group_state.StateBatch(
                first_offset=offset, last_offset=offset, delivery_state=state, delivery_count=count
            )
            for offset, (state, count) in sorted(self.states.items())
        ]
        result = read_share_group_state.PartitionResult(
            partition=topic.partitions[0].partition,
            error_code=self.error,
            start_offset=self.start_offset,
            state_batches=batches,
            state_epoch=1,
        )
        answer = read_share_group_state.ReadStateResult(topic_id=topic.topic_id, partitions=[result])
        return ReadShareGroupStateResponse(results=[answer])

    def write(self, _: Any, request: Any, context: RequestContext) -> Any:
        self.writes += 1
        self._asked.set()
        topic = request.topics[0]
        partition = topic.partitions[0]
        assert partition.state_epoch == 1
        if self.error is ErrorCode.NONE:
            self.start_offset = partition.start_offset
            for batch in partition.state_batches:
                for offset in range(batch.first_offset, batch.last_offset + 1):
                    self.states[offset] = (batch.delivery_state, batch.delivery_count)
            self.states = {offset: state for offset, state in self.states.items() if offset >= self.start_offset}
        result = write_share_group_state.PartitionResult(partition=partition.partition, error_code=self.error)
        answer = write_share_group_state.WriteStateResult(topic_id=topic.topic_id, partitions=[result])
        return WriteShareGroupStateResponse(results=[answer])


class Member:
    """One client on a connection of its own; its requests travel through the codec in both directions."""

    def __init__(self, node: Any, topic_id: UUID, name: str, number: int, version: int) -> None:
        self.node = node
        self.topic_id = topic_id
        self.name = name
        self.epoch = 0
        self.version = version
        self.connection = Connection(number, "127.0.0.1:5", "PLAINTEXT")

    async def fetch(self, *said: tuple[int, int, list[int]], partitions: tuple[int, ...] = (0,), **fields: Any) -> Any:
        batches = [
            share_fetch.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said
        ]
        topic = share_fetch.FetchTopic(
            topic_id=self.topic_id,
            partitions=[
                share_fetch.FetchPartition(partition_index=index, acknowledgement_batches=batches)
                for index in partitions
            ],
        )
        request = ShareFetchRequest(
            group_id="group",
            member_id=self.name,
            share_session_epoch=fields.pop("epoch", self.epoch),
            **{
                "max_wait_ms": 5_000,
                "min_bytes": 1,
                "max_records": 500,
                "batch_size": 500,
                "topics": [topic],
                **fields,
            },
        )
        reply = await self._call(request)
        if reply.error_code == 0:
            self.epoch += 1
        return reply

    async def acknowledge(self, *said: tuple[int, int, list[int]], epoch: int | None = None, **fields: Any) -> Any:
        batches = [
            share_acknowledge.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said
        ]
        partition = share_acknowledge.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        topic = share_acknowledge.AcknowledgeTopic(topic_id=self.topic_id, partitions=[partition])
        request = ShareAcknowledgeRequest(
            group_id="group",
            member_id=self.name,
            share_session_epoch=self.epoch if epoch is None else epoch,
            topics=[topic] if said else [],
            **fields,
        )
        reply = await self._call(request)
        if reply.error_code == 0:
            self.epoch += 1
        return reply

    def disconnect(self) -> None:
        for call in self.connection.at_close:
            call()

    async def _call(self, request: Any) -> Any:
        key = ApiKey(request.api_key)
        request = decode(type(request), self.version, memoryview(encode(request, self.version)))
        now_ms = self.node.world.monotonic_ms()
        context = RequestContext(key, self.version, 7, "client", b"", self.connection, now_ms)
        reply = HANDLERS[key].handle(self.node.broker, request, context)
        if asyncio.iscoroutine(reply):
            reply = await reply
        parts = [
            part if isinstance(part, bytes | memoryview) else part.read() for part in encode_parts(reply, self.version)
        ]
        return decode(type(reply), self.version, b"".join(parts))


class Group:
    def __init__(self, node: Any, topic_id: UUID, coordinator: Coordinator) -> None:
        self.node = node
        self.topic_id = topic_id
        self.coordinator = coordinator
        self._members = 0

    def member(self, name: str = "", *, version: int = 2) -> Member:
        self._members += 1
        return Member(self.node, self.topic_id, name or f"member-{self._members}", self._members, version)

    def produce(self, *batches: bytes, index: int = 0) -> None:
        for batch in batches:
            data = TopicProduceData(name="jobs", partition_data=[PartitionProduceData(index=index, records=batch)])
            reply = self.node.call(ProduceRequest(acks=1, topic_data=[data]), 9)
            assert reply.responses[0].partition_responses[0].error_code == 0

    def configure(self, key: str, value: str) -> None:
        self.node.learn(r.ConfigChanged(r.ResourceType.GROUP, "group", key, value))


@asynccontextmanager
async def serving(node: Any) -> AsyncIterator[Group]:
    """A broker whose shares are loaded and stored, and their coordinator on the loopback."""
    coordinator = Coordinator()
    handlers = {
        ApiKey.READ_SHARE_GROUP_STATE: serve(ReadShareGroupStateRequest, coordinator.read),
        ApiKey.WRITE_SHARE_GROUP_STATE: serve(WriteShareGroupStateRequest, coordinator.write),
    }
    server = Server("coordinator", handlers, None, node.world)
    listener = await server.listen("127.0.0.1", 0)
    node_id, nodes = NodeId(COORDINATOR), (NodeId(1),)
    endpoint = r.Endpoint("PLAINTEXT", "127.0.0.1", listener.port)
    topic_id = node.create_topic("jobs", partitions=2)
    state_id = UUID(int=99)
    node.learn(
        r.NodeRegistered(node_id, BrokerEpoch(9), UUID(int=9), (endpoint,), None),
        r.NodeUnfenced(node_id, BrokerEpoch(9)),
        r.TopicCreated(SHARE_STATE_TOPIC, state_id, True),
        r.PartitionCreated(state_id, 0, nodes, nodes, NodeId(1), LeaderEpoch(0), PartitionEpoch(0)),
        r.ShardAssigned(state_id, 0, node_id, ProducerId(5), ProducerEpoch(0)),
    )
    running = asyncio.create_task(node.broker.share_groups.run())
    try:
        yield Group(node, topic_id, coordinator)
    finally:
        running.cancel()
        await asyncio.wait([running])
        await node.broker.share_groups.close()
        await server.close()


def acquired(reply: Any, index: int = 0) -> list[tuple[int, int, int]]:
    """(first offset, last offset, deliveries) of what a fetch acquired."""
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for topic in reply.responses
        for partition in topic.partitions
        if partition.partition_index == index
        for each in partition.acquired_records
    ]


def errors(reply: Any) -> list[tuple[int, int]]:
    """(error, error of the acknowledgement) by partition."""
    return [
        (partition.error_code, getattr(partition, "acknowledge_error_code", 0))
        for topic in reply.responses
        for partition in topic.partitions
    ]
