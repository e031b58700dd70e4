"""Three brokers with a topic of three replicas, and a real controller: they are stopped, killed and emptied one after the other."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from controller_machines import Machines, run, sound_api_server

from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_cluster.members import Partition
from millstream_cluster.records import Endpoint
from millstream_runtime.nodes.client import Client, ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateTopicsRequest, FetchRequest, ProduceRequest
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records import Record, decode_batches, encode_batch

BROKERS = (1, 2, 3)
SESSION_MS = 9_000


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.machines = Machines(directory / "unused", api_server=sound_api_server())
        self.directory = directory
        self.worlds: dict[int, SimulatedWorld] = {}
        self.apps: dict[int, BrokerApp] = {}
        self.produced: list[str] = []
        self._client_world = SimulatedWorld(self.machines.network, "client", self.machines.random)

    async def begin(self) -> "Cluster":
        await self.machines.start(0)
        for node_id in BROKERS:
            await self.start(node_id)
        admin = ControllerLink(self._client_world, [("c0", 9093)], client_id="admin")
        wanted = CreatableTopic(
            name="orders",
            num_partitions=1,
            replication_factor=3,
            configs=[CreatableTopicConfig(name="min.insync.replicas", value="2")],
        )
        answer = await admin.request(CreateTopicsRequest(topics=[wanted]), timeout_ms=20_000)
        assert answer.topics[0].error_code == ErrorCode.NONE, answer
        await admin.close()
        await self.until(lambda: len(self.partition.isr) == 3)
        return self

    async def start(self, node_id: int) -> None:
        world = SimulatedWorld(self.machines.network, f"b{node_id}", self.machines.random)
        config = BrokerConfig(
            node_id=node_id,
            data_dir=self.directory / f"b{node_id}",
            controllers=(("c0", 9093),),
            listeners=(Endpoint("PLAINTEXT", f"b{node_id}", 9092),),
            session_timeout_ms=SESSION_MS,
        )
        app = BrokerApp(config, world)
        self.worlds[node_id], self.apps[node_id] = world, app
        running = world.start(app.run())
        ready = asyncio.ensure_future(app.ready.wait())
        async with asyncio.timeout(100):
            await asyncio.wait([ready, running], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if running.done():
            await running

    async def stop(self, node_id: int) -> None:
        await self.worlds[node_id].stop()
        await self._gone(node_id)

    async def kill(self, node_id: int) -> None:
        await self._gone(node_id)

    async def _gone(self, node_id: int) -> None:
        app = self.apps.pop(node_id)
        await self.worlds.pop(node_id).kill()
        if app.partitions is not None:
            app.partitions.abandon()

    @property
    def partition(self) -> Partition:
        """As the broker that knows most has it."""
        images = [app.follower.image for app in self.apps.values() if app.follower is not None]
        found = max(images, key=lambda image: image.offset).partition("orders", 0)
        assert found is not None
        return found

    async def produce(self, *values: str) -> None:
        """With acks=all; again, somewhere else, until it is acknowledged."""
        for value in values:
            async with asyncio.timeout(100):
                while await self._produce(self.partition.leader, value) is not ErrorCode.NONE:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            self.produced.append(value)

    async def _produce(self, leader: int, value: str) -> ErrorCode:
        part = PartitionProduceData(index=0, records=encode_batch([Record(0, 1_700_000_000_000, b"k", value.encode())]))
        request = ProduceRequest(
            acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name="orders", partition_data=[part])]
        )
        if leader not in self.apps:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        try:
            answer = await self.ask(leader, request, 9)
        except ClientError:
            return ErrorCode.NETWORK_EXCEPTION
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    async def values(self) -> list[str]:
        """What consumers read, once, in order; a produce that was tried again may be there twice."""
        part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(max_bytes=1 << 20, topics=[FetchTopic(topic="orders", partitions=[part])])
        answer = await self.ask(self.partition.leader, request, 12)
        found = [(record.value or b"").decode() for record in decode_batches(answer.responses[0].partitions[0].records)]
        return list(dict.fromkeys(found))

    async def ask(self, node_id: int, message: Any, version: int) -> Any:
        client = await Client.connect(self._client_world, f"b{node_id}", 9092, client_id="t")
        try:
            return await client.request(message, timeout_ms=10_000, version=version)
        finally:
            await client.close()

    async def until(self, condition: Callable[[], bool], within_s: float = 60) -> None:
        async with asyncio.timeout(within_s):
            while True:
                try:
                    if condition():
                        return
                except (AssertionError, ValueError):
                    pass
                await asyncio.sleep(0.02)

    async def until_all_are_in_sync(self) -> None:
        await self.until(lambda: set(self.partition.isr) == set(self.apps) == set(BROKERS))


@pytest.fixture
def scene(tmp_path: Path) -> Callable[[Callable[[Cluster], Awaitable[None]]], None]:
    def whole(scenario: Callable[[Cluster], Awaitable[None]]) -> None:
        async def all_of_it() -> None:
            await scenario(await Cluster(tmp_path).begin())

        run(all_of_it())

    return whole


def test_brokers_that_are_stopped_one_after_the_other_lose_nothing(scene: Any) -> None:
    async def scenario(cluster: Cluster) -> None:
        for node_id in BROKERS:
            await cluster.produce(f"before {node_id}")
            await cluster.stop(node_id)
            await cluster.produce(f"without {node_id}")
            await cluster.start(node_id)
            await cluster.until_all_are_in_sync()
        assert await cluster.values() == cluster.produced

    scene(scenario)


def test_leaders_that_are_killed_lose_nothing(scene: Any) -> None:
    async def scenario(cluster: Cluster) -> None:
        for turn in range(4):
            await cluster.produce(f"before {turn}")
            leader = cluster.partition.leader
            await cluster.kill(leader)
            await cluster.produce(f"without {turn}")
            await cluster.start(leader)
            await cluster.until_all_are_in_sync()
        assert await cluster.values() == cluster.produced

    scene(scenario)


def test_a_replica_with_an_empty_disk_copies_everything_again(scene: Any) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.produce("a", "b")
        leader = cluster.partition.leader
        lost = next(node_id for node_id in BROKERS if node_id != leader)
        await cluster.kill(lost)
        shutil.rmtree(cluster.directory / f"b{lost}")
        await cluster.produce("c")
        await cluster.start(lost)
        await cluster.until_all_are_in_sync()
        await cluster.kill(leader)
        await cluster.produce("d")
        assert await cluster.values() == ["a", "b", "c", "d"]

    scene(scenario)


def test_a_replica_whose_directory_is_lost_copies_it_again(scene: Any) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.produce("a", "b")
        leader = cluster.partition.leader
        lost = next(node_id for node_id in BROKERS if node_id != leader)
        await cluster.stop(lost)
        shutil.rmtree(cluster.directory / f"b{lost}" / "orders-0")
        await cluster.produce("c")
        await cluster.start(lost)
        await cluster.until_all_are_in_sync()
        replica = cluster.apps[lost].partitions.find("orders", 0)  # type: ignore[union-attr]
        assert replica is not None
        assert replica.log.log_end_offset == 3
        assert await cluster.values() == ["a", "b", "c"]

    scene(scenario)


def test_a_clean_stop_keeps_followers_fetching_until_leadership_has_moved(scene: Any) -> None:
    """Nobody has to be cut when the leader returns: what it took last, others have."""

    async def scenario(cluster: Cluster) -> None:
        await cluster.produce("a")
        leader = cluster.partition.leader
        stopping = asyncio.ensure_future(cluster.stop(leader))
        for value in "bcdef":
            await cluster.produce(value)
        await stopping
        ends = {node_id: app.partitions.find("orders", 0).log.log_end_offset for node_id, app in cluster.apps.items()}  # type: ignore[union-attr]
        assert len(ends) == 2
        await cluster.start(leader)
        await cluster.until_all_are_in_sync()
        assert await cluster.values() == list("abcdef")

    scene(scenario)
