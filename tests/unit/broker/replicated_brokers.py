"""Three brokers with a topic of three replicas, and a real controller, under virtual time."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from controller_machines import Machines, sound_api_server

from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_cluster.members import Partition
from millstream_cluster.records import Endpoint
from millstream_log.disk import DISK, Disk
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
    def __init__(self, directory: Path, *, log_dirs: Sequence[str] = ("",)) -> None:
        """`log_dirs`: the names of each broker's directories within its own."""
        self.log_dirs = log_dirs
        self.disks: dict[int, Disk] = dict.fromkeys(BROKERS, DISK)
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

    def path(self, node_id: int, log_dir: str = "") -> Path:
        return self.directory / f"b{node_id}" / log_dir

    async def start(self, node_id: int) -> None:
        world = SimulatedWorld(self.machines.network, f"b{node_id}", self.machines.random)
        config = BrokerConfig(
            node_id=node_id,
            data_dir=self.path(node_id, self.log_dirs[0]),
            other_data_dirs=tuple(self.path(node_id, name) for name in self.log_dirs[1:]),
            controllers=(("c0", 9093),),
            listeners=(Endpoint("PLAINTEXT", f"b{node_id}", 9092),),
            session_timeout_ms=SESSION_MS,
        )
        app = BrokerApp(config, world, self.disks[node_id])
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
