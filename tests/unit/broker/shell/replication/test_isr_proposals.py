"""A leader's ISRs on their way to the controller and back: one request at a time, lost answers, and who waits for what comes of it.

The controller is the other end of the wire here: it takes a proposal for the present epochs, as AlterPartition says.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream_broker.shell.replication.isr_proposals import IsrProposals
from millstream_cluster import records as r
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_runtime.nodes.controllers import ControllerUnavailable
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterPartitionRequest, AlterPartitionResponse, ProduceRequest
from millstream_wire.messages.alter_partition import ResponsePartitionData, ResponseTopicData
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData

US, FOLLOWER = NodeId(1), NodeId(2)
BOTH = (US, FOLLOWER)
LAG_MS = 1_000
LEADER_EPOCH = 3
OUR_LIFE = 1


class Controller:
    """Answers at the end of a `ControllerLink`; `lost` says of each next request whether its answer gets lost, and how."""

    def __init__(self) -> None:
        self.epochs: dict[tuple[UUID, int], int] = {}
        self.asked: list[AlterPartitionRequest] = []
        self.lost: list[str] = []
        self.error = ErrorCode.NONE
        """Of whole requests, and below of each proposal."""
        self.refused = ErrorCode.NONE
        self.closed = False
        self.gate = asyncio.Event()
        """Closed while an answer is to take its time."""
        self.gate.set()

    def another(self) -> "Controller":
        return self

    async def close(self) -> None:
        self.closed = True

    async def request(self, message: AlterPartitionRequest, *, timeout_ms: int) -> AlterPartitionResponse:
        request = decode(AlterPartitionRequest, 3, encode(message, 3))
        self.asked.append(request)
        await self.gate.wait()
        how = self.lost.pop(0) if self.lost else "not"
        if how == "before":
            raise ControllerUnavailable("no active controller")
        answer = AlterPartitionResponse(error_code=self.error)
        if self.error is ErrorCode.NONE:
            answer.topics = [
                ResponseTopicData(topic_id=topic.topic_id, partitions=[self._take(topic.topic_id, each)])
                for topic in request.topics
                for each in topic.partitions
            ]
        if how == "after":
            raise ControllerUnavailable("no answer in time")
        return decode(AlterPartitionResponse, 3, encode(answer, 3))

    def _take(self, topic_id: UUID, asked: Any) -> ResponsePartitionData:
        if self.refused is not ErrorCode.NONE:
            return ResponsePartitionData(partition_index=asked.partition_index, error_code=self.refused)
        key = topic_id, asked.partition_index
        if asked.partition_epoch != self.epochs.get(key, 1):
            return ResponsePartitionData(
                partition_index=asked.partition_index, error_code=ErrorCode.INVALID_UPDATE_VERSION
            )
        self.epochs[key] = asked.partition_epoch + 1
        return ResponsePartitionData(
            partition_index=asked.partition_index,
            leader_id=US,
            leader_epoch=asked.leader_epoch,
            isr=[member.broker_id for member in asked.new_isr_with_epochs],
            partition_epoch=asked.partition_epoch + 1,
        )


class Scene:
    """Two partitions of topic "t" on us, which lead, and on a follower that is in sync at first."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.controller = Controller()
        node.broker.controllers = self.controller
        self.topic_id = node.create_topic("t", partitions=2)
        self.learn(BOTH, 1)
        self.proposals = IsrProposals(node.broker, lambda: OUR_LIFE)

    def learn(self, isr: tuple[NodeId, ...], partition_epoch: int) -> None:
        for index in range(2):
            epochs = LeaderEpoch(LEADER_EPOCH), PartitionEpoch(partition_epoch)
            self.node.learn(r.PartitionChanged(self.topic_id, index, BOTH, isr, US, *epochs))

    def partition(self, index: int = 0) -> Any:
        return self.node.replica("t", index).partition

    def fetch(self, offset: int, now_ms: int = 0, *, index: int = 0) -> None:
        follower = {"replica_id": FOLLOWER, "broker_epoch": 2}
        replica = self.node.replica("t", index)
        self.node.broker.fetched(replica, offset, **follower, arrived_ms=now_ms, log_start_offset=0)

    def produce(self, batch: bytes, *, index: int = 0) -> "asyncio.Future[Any]":
        data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=index, records=batch)])]
        request = ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=data)
        return asyncio.ensure_future(self.node._handle(request, 11, "client"))


@pytest.fixture
def scene(tmp_path: Path, new_broker: Any) -> Iterator[Scene]:
    node = new_broker(tmp_path / "data", replica_lag_time_max_ms=LAG_MS)
    node.start()
    yield Scene(node)
    for hosted in node.partitions:
        hosted.check()
    node.partitions.abandon()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def asked_of(request: AlterPartitionRequest) -> list[tuple[int, list[tuple[int, int]], int, int]]:
    return [
        (
            each.partition_index,
            [(member.broker_id, member.broker_epoch) for member in each.new_isr_with_epochs],
            each.leader_epoch,
            each.partition_epoch,
        )
        for topic in request.topics
        for each in topic.partitions
    ]


def test_a_follower_that_lags_leaves_and_the_producer_is_answered(scene: Scene, batch: Any) -> None:
    async def course() -> None:
        scene.fetch(0)
        waiting = scene.produce(batch("a"))
        await asyncio.sleep(0)
        scene.proposals.look(LAG_MS)
        assert not scene.node.partitions.isr_changes.wake.is_set()
        scene.proposals.look(LAG_MS + 1)
        assert await scene.proposals.ask()
        (request,) = scene.controller.asked
        assert (request.broker_id, request.broker_epoch) == (US, OUR_LIFE)
        assert asked_of(request) == [(0, [(US, OUR_LIFE)], LEADER_EPOCH, 1)]
        assert (scene.partition().isr, waiting.done()) == (BOTH, False), "until the metadata says so, too"
        scene.learn((US,), 2)
        assert scene.partition().isr == (US,)
        answered = scene.node.as_read(ApiKey.PRODUCE, await waiting, 11)
        (answer,) = answered.responses[0].partition_responses
        assert answer.error_code == ErrorCode.NONE
        assert (scene.node.broker.metrics.isr_shrinks, scene.node.broker.metrics.isr_expands) == (1, 0)

    asyncio.run(course())


def test_a_follower_that_has_caught_up_joins_with_the_life_that_fetched(scene: Scene) -> None:
    async def course() -> None:
        scene.learn((US,), 2)
        scene.controller.epochs = {(scene.topic_id, index): 2 for index in range(2)}
        scene.fetch(0, index=1)
        assert await scene.proposals.ask()
        assert asked_of(scene.controller.asked[0]) == [(1, [(US, OUR_LIFE), (FOLLOWER, 2)], LEADER_EPOCH, 2)]
        assert (scene.partition(0).isr, scene.partition(1).isr) == ((US,), BOTH)
        assert (scene.node.broker.metrics.isr_shrinks, scene.node.broker.metrics.isr_expands) == (0, 1)

    asyncio.run(course())


@pytest.mark.parametrize("change", ["fenced", "another life", "gone"])
def test_who_is_not_let_in_by_the_controller_is_not_proposed(scene: Scene, change: str) -> None:
    scene.learn((US,), 2)
    node = scene.node.image.node(FOLLOWER)
    if change == "fenced":
        scene.node.learn(r.NodeFenced(FOLLOWER, node.epoch))
    elif change == "another life":
        again = {field: getattr(node.registration(), field) for field in r.NodeRegistered.__dataclass_fields__}
        scene.node.learn(r.NodeRegistered(**{**again, "epoch": 9}), r.NodeUnfenced(FOLLOWER, 9))
    else:
        scene.node.learn(r.NodeUnregistered(FOLLOWER, node.epoch))
    scene.fetch(0)
    assert scene.node.partitions.isr_changes.take() == {}


def test_what_is_proposed_meanwhile_goes_with_the_next_request(scene: Scene, batch: Any) -> None:
    async def course() -> None:
        tasks = asyncio.ensure_future(scene.proposals.run())
        scene.learn((US,), 2)
        scene.controller.epochs = {(scene.topic_id, index): 2 for index in range(2)}
        scene.fetch(0)
        scene.controller.gate.clear()
        await settled()
        scene.fetch(0, index=1)
        await settled()
        assert len(scene.controller.asked) == 1, "one is under way"
        scene.controller.gate.set()
        await settled()
        assert (scene.partition(0).isr, scene.partition(1).isr) == (BOTH, BOTH)
        assert [[index for index, *_ in asked_of(each)] for each in scene.controller.asked] == [[0], [1]]
        tasks.cancel()
        await asyncio.wait([tasks])
        assert scene.controller.closed

    asyncio.run(course())


def test_partitions_that_change_together_cost_one_request(scene: Scene) -> None:
    async def course() -> None:
        scene.learn((US,), 2)
        scene.controller.epochs = {(scene.topic_id, index): 2 for index in range(2)}
        for index in range(2):
            scene.fetch(0, index=index)
        assert await scene.proposals.ask()
        assert len(scene.controller.asked) == 1
        assert (scene.partition(0).isr, scene.partition(1).isr) == (BOTH, BOTH)

    asyncio.run(course())


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_lost_answer_is_asked_for_again_and_the_metadata_may_tell(scene: Scene, batch: Any, how: str) -> None:
    """Between the loss and the metadata nobody knows whether the follower has left: both ISRs count."""

    async def course() -> None:
        scene.fetch(0)
        waiting = scene.produce(batch("a"))
        await asyncio.sleep(0)
        scene.proposals.look(LAG_MS + 1)
        scene.controller.lost = [how]
        assert not await scene.proposals.ask()
        assert (scene.partition().isr, scene.partition().high_watermark) == (BOTH, 0)
        assert await scene.proposals.ask()
        assert asked_of(scene.controller.asked[0]) == asked_of(scene.controller.asked[1])
        if how == "after":
            assert scene.partition().isr == BOTH, "INVALID_UPDATE_VERSION: the state is a later one"
        assert not waiting.done()
        scene.learn((US,), 2)
        assert (scene.partition().isr, scene.partition().high_watermark) == ((US,), 1)
        await waiting

    asyncio.run(course())


def test_a_request_in_an_earlier_life_is_asked_again(scene: Scene, batch: Any) -> None:
    async def course() -> None:
        scene.fetch(0)
        waiting = scene.produce(batch("a"))
        await asyncio.sleep(0)
        scene.proposals.look(LAG_MS + 1)
        scene.controller.error = ErrorCode.STALE_BROKER_EPOCH
        assert not await scene.proposals.ask()
        scene.controller.error = ErrorCode.NONE
        assert await scene.proposals.ask()
        scene.learn((US,), 2)
        await waiting

    asyncio.run(course())


def test_what_is_refused_is_not_proposed_without_a_pause(scene: Scene) -> None:
    """A follower that is about to stop goes on fetching, and leaders do not know that it stops."""

    async def course() -> None:
        scene.learn((US,), 2)
        scene.controller.refused = ErrorCode.INELIGIBLE_REPLICA
        tasks = asyncio.ensure_future(scene.proposals.run())
        for _ in range(50):
            scene.fetch(0)
            await settled()
        assert len(scene.controller.asked) == 1
        scene.controller.refused = ErrorCode.NONE
        scene.controller.epochs = {(scene.topic_id, 0): 2}
        await asyncio.sleep(0.1)
        assert scene.partition().isr == BOTH
        tasks.cancel()
        await asyncio.wait([tasks])

    asyncio.run(course())


def test_a_leader_that_resigns_says_so_on_the_wire(scene: Scene) -> None:
    async def course() -> None:
        replica = scene.node.replica("t", 0)
        (resigns,) = replica.partition.on_append_refused()
        replica.isr_changes.add(replica.key, resigns)
        scene.controller.refused = ErrorCode.NEW_LEADER_ELECTED
        assert await scene.proposals.ask(), "the metadata tells who leads"
        (request,) = scene.controller.asked
        assert [each.resigns for topic in request.topics for each in topic.partitions] == [True]

    asyncio.run(course())


def test_a_partition_that_is_gone_needs_no_answer(scene: Scene) -> None:
    async def course() -> None:
        scene.learn((US,), 2)
        scene.fetch(0)
        scene.node.learn(r.TopicDeleted(scene.topic_id))
        await scene.proposals.ask()

    asyncio.run(course())


def test_lags_are_looked_for_while_nobody_fetches(scene: Scene, batch: Any) -> None:
    async def course() -> None:
        scene.fetch(0, scene.node.world.monotonic_ms() - LAG_MS - 1)
        waiting = scene.produce(batch("a"))
        tasks = asyncio.ensure_future(scene.proposals.run())
        async with asyncio.timeout(5):
            while not scene.controller.asked:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            scene.learn((US,), 2)
            await waiting
        tasks.cancel()
        await asyncio.wait([tasks])

    asyncio.run(course())


def test_what_is_led_is_counted(scene: Scene) -> None:
    def counts() -> dict[str, int]:
        text = "".join(family.text() for family in scene.node.broker.metrics.collect())
        found = re.findall(r"^millstream_(under_replicated|under_min_isr|at_min_isr)_partitions\S* (\d+)", text, re.M)
        return {name: int(count) for name, count in found}

    assert counts() == {"under_replicated": 0, "under_min_isr": 0, "at_min_isr": 0}
    scene.node.learn(r.ConfigChanged(r.ResourceType.TOPIC, "t", "min.insync.replicas", "2"))
    assert counts() == {"under_replicated": 0, "under_min_isr": 0, "at_min_isr": 2}
    scene.learn((US,), 2)
    assert counts() == {"under_replicated": 2, "under_min_isr": 2, "at_min_isr": 0}
