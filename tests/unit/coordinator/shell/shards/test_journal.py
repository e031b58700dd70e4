"""A shard's journal against a leader with Kafka's producer fence that does what the test says, over real connections."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_coordinator.core.group_shard.records import CommittedOffset, OffsetCommitted, OffsetRemoved, ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.shell.shards.journal import Codec, ShardJournal
from millstream_coordinator.shell.shards.partition import AppendRefused, Connections, Deposed, ShardPartition
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_runtime.world import RealWorld
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, FetchResponse, ProduceRequest, ProduceResponse
from millstream_wire.messages.fetch import FetchableTopicResponse, PartitionData
from millstream_wire.messages.produce import PartitionProduceResponse, TopicProduceResponse
from millstream_wire.records import Record, check, decode_batches, encode_batch, stamp

TOPIC_ID = UUID(int=7)


@dataclass
class Leader:
    """A partition's leader: appends what its producer's epoch and sequence allow, once."""

    batches: list[bytearray] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)
    faults: list[ErrorCode | str] = field(default_factory=list)
    """What to do with the next appends: an error, or "lost" (append, and close without an answer)."""
    epoch: int = -1
    next_sequence: int = 0

    @property
    def end_offset(self) -> int:
        return sum(check(batch).record_count for batch in self.batches)

    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in decode_batches(batch)]

    def append(self, data: bytes) -> tuple[ErrorCode, int]:
        header = check(data)
        if header.producer_epoch < self.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, -1
        for batch in self.batches:
            kept = check(batch)
            same = (header.producer_epoch, header.base_sequence, header.record_count)
            if (kept.producer_epoch, kept.base_sequence, kept.record_count) == same:
                return ErrorCode.NONE, kept.base_offset
        expected = self.next_sequence if header.producer_epoch == self.epoch else 0
        if header.base_sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        batch = bytearray(data)
        stamp(batch, self.end_offset, 0)
        self.batches.append(batch)
        self.epoch, self.next_sequence = header.producer_epoch, header.base_sequence + header.record_count
        return ErrorCode.NONE, check(batch).base_offset

    def produce(self, request: ProduceRequest) -> Any:
        data = bytes(request.topic_data[0].partition_data[0].records or b"")
        self.received.append(data)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, ErrorCode):
            error, offset = fault, -1
        else:
            error, offset = self.append(data)
        if fault == "lost":
            answer = asyncio.get_running_loop().create_future()
            answer.cancel()  # the server closes the connection
            return answer
        part = PartitionProduceResponse(index=0, error_code=error, base_offset=offset)
        return ProduceResponse(
            responses=[TopicProduceResponse(name="o", topic_id=TOPIC_ID, partition_responses=[part])]
        )

    def fetch(self, request: FetchRequest) -> FetchResponse:
        offset = request.topics[0].partitions[0].fetch_offset
        part = PartitionData(partition_index=0, high_watermark=self.end_offset, log_start_offset=0)
        # One batch at a time, so that loading has to come back for more.
        part.records = next((bytes(b) for b in self.batches if check(b).base_offset >= offset), b"")
        return FetchResponse(responses=[FetchableTopicResponse(topic="o", topic_id=TOPIC_ID, partitions=[part])])


def handle_produce(leader: Leader, request: ProduceRequest, context: RequestContext) -> Any:
    return leader.produce(request)


def handle_fetch(leader: Leader, request: FetchRequest, context: RequestContext) -> Any:
    return leader.fetch(request)


CODEC: Codec[ShardRecord] = Codec(encode_record, decode_record)


def image_with_leader(host: str, port: int, leader_epoch: int = 0) -> Image:
    node, nodes = NodeId(1), (NodeId(1),)
    records = [
        r.NodeRegistered(node, BrokerEpoch(1), UUID(int=1), (r.Endpoint("PLAINTEXT", host, port),), None),
        r.NodeUnfenced(node, BrokerEpoch(1)),
        r.TopicCreated("o", TOPIC_ID, True),
        r.PartitionCreated(TOPIC_ID, 0, nodes, nodes, node, LeaderEpoch(leader_epoch), PartitionEpoch(0)),
    ]
    return Image.of(records, 0)


def run(leader: Leader, scenario: Callable[[Callable[[int], ShardJournal[ShardRecord]]], Any]) -> None:
    """`scenario` gets a function that makes the journal of an owner with this epoch."""

    async def main() -> None:
        world = RealWorld(SocketNetwork())
        server = Server(
            "leader",
            {ApiKey.PRODUCE: serve(ProduceRequest, handle_produce), ApiKey.FETCH: serve(FetchRequest, handle_fetch)},
            leader,
            world,
        )
        listener = await server.listen("127.0.0.1", 0)
        image = image_with_leader(listener.host, listener.port)
        connections = Connections(Nodes(world, client_id="a"), Nodes(world, client_id="b"), asyncio.Semaphore(1))
        partition = ShardPartition(world, connections, lambda: image, topic="o", topic_id=TOPIC_ID, partition=0)
        try:
            async with asyncio.timeout(20):
                await scenario(
                    lambda epoch: ShardJournal(
                        partition, CODEC, world.now_ms, coordinator_id=10_000, producer_id=5, producer_epoch=epoch
                    )
                )
        finally:
            await connections.close()
            await server.close()

    asyncio.run(main())


def committed(offset: int, group_id: str = "g", metadata: str = "") -> OffsetCommitted:
    return OffsetCommitted(group_id, "t", 0, CommittedOffset(offset=offset, metadata=metadata, commit_timestamp_ms=1))


def kept(leader: Leader) -> list[ShardRecord | None]:
    return [decode_record(record.key, record.value) for record in leader.records()]


def test_an_owner_claims_then_reads_then_writes() -> None:
    leader = Leader()

    async def scenario(owner: Callable[[int], ShardJournal[ShardRecord]]) -> None:
        first = owner(0)
        assert await first.claim() == 0
        await first.append([(committed(1), committed(2)), (committed(3, "h"),)])
        second = owner(1)
        assert await second.claim() == 4
        shard = GroupShard(GroupLimits())
        assert await second.load(shard, 4, 1 << 20) == 4
        assert {group: list(offsets.values()) for group, offsets in shard.offsets.items()} == {
            "g": [committed(2).committed],
            "h": [committed(3).committed],
        }
        await second.append([(committed(4),)])

    run(leader, scenario)
    assert kept(leader) == [
        ShardClaimed(10_000, 0),
        committed(1),
        committed(2),
        committed(3, "h"),
        ShardClaimed(10_000, 1),
        committed(4),
    ]


@pytest.mark.parametrize(
    "faults",
    [
        [ErrorCode.NOT_LEADER_OR_FOLLOWER],
        [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.KAFKA_STORAGE_ERROR],
        ["lost"],
        ["lost", ErrorCode.NOT_ENOUGH_REPLICAS, "lost"],
    ],
)
def test_an_unknown_outcome_is_resolved_with_the_same_bytes(faults: list[ErrorCode | str]) -> None:
    leader = Leader()

    async def scenario(owner: Callable[[int], ShardJournal[ShardRecord]]) -> None:
        journal = owner(0)
        await journal.claim()
        leader.received.clear()
        leader.faults[:] = faults
        await journal.append([(committed(1),)])
        assert len(leader.received) == len(faults) + 1
        assert len(set(leader.received)) == 1
        await journal.append([(committed(2),)])

    run(leader, scenario)
    assert kept(leader) == [ShardClaimed(10_000, 0), committed(1), committed(2)]


def test_a_deposed_owner_writes_nothing_more() -> None:
    leader = Leader()

    async def scenario(owner: Callable[[int], ShardJournal[ShardRecord]]) -> None:
        old, new = owner(0), owner(1)
        await old.claim()
        await new.claim()
        with pytest.raises(Deposed):
            await old.append([(committed(1),)])

    run(leader, scenario)
    assert kept(leader) == [ShardClaimed(10_000, 0), ShardClaimed(10_000, 1)]


def test_a_log_that_lost_its_place_is_not_written_to() -> None:
    leader = Leader()

    async def scenario(owner: Callable[[int], ShardJournal[ShardRecord]]) -> None:
        journal = owner(0)
        await journal.claim()
        leader.next_sequence = 9
        with pytest.raises(AppendRefused):
            await journal.append([(committed(1),)])

    run(leader, scenario)


def test_many_commands_go_in_batches_that_brokers_take_and_no_command_is_split() -> None:
    leader = Leader()
    big = "x" * 4_000
    commands = [tuple(committed(n, metadata=big) for n in range(100)) for _ in range(5)]

    async def scenario(owner: Callable[[int], ShardJournal[ShardRecord]]) -> None:
        journal = owner(0)
        await journal.claim()
        await journal.append(commands)

    run(leader, scenario)
    batches = leader.batches[1:]
    assert all(len(batch) < COMMAND_BYTES_MAX for batch in batches)
    assert [check(batch).record_count for batch in batches] == [200, 200, 100]


def test_one_barrier_serves_all_who_wait_for_one() -> None:
    leader = Leader()

    async def scenario(owner: Callable[[int], ShardJournal[ShardRecord]]) -> None:
        journal = owner(0)
        await journal.claim()
        await journal.append([(journal.claimed,), (OffsetRemoved("g", "t", 0),), (journal.claimed,)])

    run(leader, scenario)
    assert kept(leader) == [ShardClaimed(10_000, 0), ShardClaimed(10_000, 0), OffsetRemoved("g", "t", 0)]


def test_records_that_are_not_ours_do_not_stop_a_load() -> None:
    leader = Leader()

    async def scenario(owner: Callable[[int], ShardJournal[ShardRecord]]) -> None:
        strange = [Record(0, 0, b"", b""), Record(1, 0, b"\0\1bad", b""), Record(2, 0, b"\0\x2ax", b"y")]
        leader.append(encode_batch(strange, producer_id=5, producer_epoch=0, base_sequence=0))
        journal = owner(1)
        assert await journal.load(GroupShard(GroupLimits()), await journal.claim(), 1 << 20) == 3

    run(leader, scenario)


def test_a_batch_goes_to_the_next_leader_while_the_one_before_is_silent() -> None:
    leader = Leader()

    async def main() -> None:
        world = RealWorld(SocketNetwork())
        asked = asyncio.Event()

        def never(app: Leader, request: ProduceRequest, context: RequestContext) -> Any:
            asked.set()
            return asyncio.get_running_loop().create_future()

        paused = Server("paused", {ApiKey.PRODUCE: serve(ProduceRequest, never)}, leader, world)
        healthy = Server("healthy", {ApiKey.PRODUCE: serve(ProduceRequest, handle_produce)}, leader, world)
        before = await paused.listen("127.0.0.1", 0)
        after = await healthy.listen("127.0.0.1", 0)
        image = image_with_leader(before.host, before.port)
        connections = Connections(Nodes(world, client_id="a"), Nodes(world, client_id="b"), asyncio.Semaphore(1))
        partition = ShardPartition(world, connections, lambda: image, topic="o", topic_id=TOPIC_ID, partition=0)
        journal = ShardJournal(partition, CODEC, world.now_ms, coordinator_id=1, producer_id=5, producer_epoch=0)
        try:
            async with asyncio.timeout(5):
                claiming = asyncio.create_task(journal.claim())
                await asked.wait()
                image = image_with_leader(after.host, after.port, leader_epoch=1)
                connections.interest.on_change()
                assert await claiming == 0
        finally:
            await connections.close()
            await paused.close()
            await healthy.close()

    asyncio.run(main())
    assert kept(leader) == [ShardClaimed(1, 0)]
