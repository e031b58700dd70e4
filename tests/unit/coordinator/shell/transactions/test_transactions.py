"""A shard of transactions in service: what is decided is carried out, whatever its partitions' leader answers at first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_coordinator.core.journal.claim import ShardClaimed
from millstream_coordinator.core.transactions.courses import Producer, add_partitions, end_transaction
from millstream_coordinator.core.transactions.limits import TransactionLimits
from millstream_coordinator.core.transactions.machine import TransactionShard
from millstream_coordinator.core.transactions.records import TransactionRecord, TransactionStored
from millstream_coordinator.core.transactions.transaction import Transaction, TransactionState
from millstream_coordinator.shell.clock import SteadyClock
from millstream_coordinator.shell.transactions.markers import Markers
from millstream_coordinator.shell.transactions.nodes import TransactionNodes
from millstream_coordinator.shell.transactions.transactions import Transactions
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.replicated import Replicated
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_runtime.world import RealWorld
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from millstream_wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
)

State = TransactionState
TOPIC_ID = UUID(int=9)
PRODUCER = Producer("x", 5, 3)
ONGOING = Transaction(
    transactional_id="x",
    producer_id=5,
    producer_epoch=3,
    timeout_ms=60_000,
    state=State.ONGOING,
    partitions=frozenset({("t", 0), ("t", 1)}),
    start_ms=1,
    updated_ms=1,
)


class Leader:
    """Of both partitions: answers markers with these errors, one after the other, then takes them."""

    def __init__(self, *errors: ErrorCode) -> None:
        self.errors = list(errors)
        self.markers: list[tuple[int, int, bool, int]] = []
        self.partitions: list[list[int]] = []

    def take(self, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        (marker,) = request.markers
        (topic,) = marker.topics
        self.markers.append(
            (marker.producer_id, marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch)
        )
        self.partitions.append(topic.partition_indexes)
        # The first partition meets the trouble, the others are fine.
        error = self.errors.pop(0) if self.errors else ErrorCode.NONE
        answers = [
            WritableTxnMarkerPartitionResult(partition_index=index, error_code=ErrorCode.NONE if at else error)
            for at, index in enumerate(topic.partition_indexes)
        ]
        result = WritableTxnMarkerTopicResult(name=topic.name, partitions=answers)
        return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=5, topics=[result])])


def handle_markers(leader: Leader, request: WriteTxnMarkersRequest, context: RequestContext) -> Any:
    return leader.take(request)


class Journal:
    """Keeps what is committed; waits before each append while it is held."""

    def __init__(self) -> None:
        self.records: list[TransactionRecord] = []
        self.free = asyncio.Event()
        self.free.set()

    async def append(self, commands: Sequence[tuple[TransactionRecord, ...]]) -> None:
        await self.free.wait()
        for command in commands:
            self.records += command

    @property
    def states(self) -> list[State]:
        return [each.transaction.state for each in self.records if isinstance(each, TransactionStored)]


def image_of(host: str, port: int) -> Image:
    node, nodes = NodeId(1), (NodeId(1),)
    partitions = [
        r.PartitionCreated(TOPIC_ID, index, nodes, nodes, node, LeaderEpoch(0), PartitionEpoch(0)) for index in (0, 1)
    ]
    records = [
        r.NodeRegistered(node, BrokerEpoch(1), UUID(int=1), (r.Endpoint("PLAINTEXT", host, port),), None),
        r.NodeUnfenced(node, BrokerEpoch(1)),
        r.TopicCreated("t", TOPIC_ID, False),
        *partitions,
    ]
    return Image.of(records, 0)


Scenario = Callable[[Transactions, Journal, Image], Awaitable[None]]


def run_shard(leader: Leader, scenario: Scenario, *found: Transaction, check_interval_ms: int = 10_000) -> None:
    """Run the scenario with a shard in whose log these transactions were found."""

    async def main() -> None:
        world = RealWorld(SocketNetwork())
        server = Server(
            "leader", {ApiKey.WRITE_TXN_MARKERS: serve(WriteTxnMarkersRequest, handle_markers)}, leader, world
        )
        listener = await server.listen("127.0.0.1", 0)
        image = image_of(listener.host, listener.port)
        nodes = Nodes(world, client_id="a")
        journal, shard, clock = Journal(), TransactionShard(), SteadyClock(world)
        for transaction in found:
            shard.apply(TransactionStored(transaction))
        replicated = Replicated[TransactionShard, TransactionRecord](shard, journal, clock.now_ms)
        markers = Markers(TransactionNodes(nodes, lambda: image, Interest()), world.random)
        limits = TransactionLimits(timeout_check_interval_ms=check_interval_ms)
        try:
            async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
                served = Transactions(replicated, markers, clock, limits, tasks, ShardClaimed(10_000, 4))
                await scenario(served, journal, image)
                served.close("over")
        finally:
            await replicated.stop(RuntimeError("over"))
            await nodes.close()
            await server.close()

    asyncio.run(main())


async def until(is_true: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if is_true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came true")


def prepared(state: State) -> Transaction:
    return Transaction(
        transactional_id="x",
        producer_id=5,
        producer_epoch=3,
        timeout_ms=60_000,
        state=state,
        partitions=ONGOING.partitions,
        start_ms=1,
        updated_ms=1,
    )


def test_a_new_owner_ends_what_it_finds_decided() -> None:
    leader = Leader()

    async def scenario(served: Transactions, journal: Journal, image: Image) -> None:
        await until(lambda: journal.states == [State.COMPLETE_ABORT])

    run_shard(leader, scenario, prepared(State.PREPARE_ABORT))
    assert leader.markers == [(5, 3, False, 4)]


def test_markers_are_sent_until_every_partition_has_them() -> None:
    trouble = (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    )
    leader = Leader(*trouble)

    async def scenario(served: Transactions, journal: Journal, image: Image) -> None:
        await served.execute(lambda shard, now_ms: end_transaction(shard, PRODUCER, now_ms, commit=True))
        await until(lambda: journal.states == [State.PREPARE_COMMIT, State.COMPLETE_COMMIT])

    run_shard(leader, scenario, ONGOING)
    assert leader.partitions == [[0, 1], [0], [0], [0]]
    assert set(leader.markers) == {(5, 3, True, 4)}


def test_no_marker_goes_out_before_the_decision_is_committed() -> None:
    leader = Leader()

    async def scenario(served: Transactions, journal: Journal, image: Image) -> None:
        journal.free.clear()
        asked = asyncio.create_task(
            served.execute(lambda shard, now_ms: end_transaction(shard, PRODUCER, now_ms, commit=True))
        )
        await asyncio.sleep(0.1)
        assert (leader.markers, asked.done()) == ([], False)
        asked.cancel()  # its client went away: what was decided is carried out all the same
        journal.free.set()
        await until(lambda: journal.states == [State.PREPARE_COMMIT, State.COMPLETE_COMMIT])

    run_shard(leader, scenario, ONGOING)
    assert len(leader.markers) == 1


def test_a_deleted_topic_needs_no_marker() -> None:
    leader = Leader(*[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 1_000)

    async def scenario(served: Transactions, journal: Journal, image: Image) -> None:
        await served.execute(lambda shard, now_ms: end_transaction(shard, PRODUCER, now_ms, commit=True))
        await until(lambda: len(leader.markers) > 2)
        assert journal.states == [State.PREPARE_COMMIT]
        image.apply(r.TopicDeleted(TOPIC_ID), image.offset + 1)
        await until(lambda: journal.states == [State.PREPARE_COMMIT, State.COMPLETE_COMMIT])

    run_shard(leader, scenario, ONGOING)


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    leader = Leader()

    async def scenario(served: Transactions, journal: Journal, image: Image) -> None:
        await until(lambda: journal.states == [State.PREPARE_ABORT, State.COMPLETE_ABORT])
        again = await served.execute(lambda shard, now_ms: add_partitions(shard, PRODUCER, [("t", 0)], now_ms))
        assert again is ErrorCode.PRODUCER_FENCED

    run_shard(leader, scenario, ONGOING, check_interval_ms=20)
    assert leader.markers == [(5, 4, False, 4)]
