"""Brokers that copy from each other over a simulated network, with metadata that the test writes in the controller's place."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream_broker.api import HANDLERS
from millstream_broker.config import BrokerConfig
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.delays import Delays
from millstream_broker.shell.partition.applied_metadata import AppliedMetadata
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_broker.shell.partition.hosting import Hosting
from millstream_broker.shell.partition.log_dirs import LogDirs
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_broker.shell.partition.spare_room import SpareRoom
from millstream_broker.shell.replication.replication import Replication
from millstream_broker.shell.upkeep.cleaner import Cleaner
from millstream_broker.shell.upkeep.upkeep import Upkeep
from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, BrokerEpoch, ControllerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_log import DataDir, LogError
from millstream_log.disk import DISK, Disk
from millstream_runtime.network.links import Limits
from millstream_runtime.nodes.client import Client, ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.serving.api_versions import Identity
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.listeners import listen_on
from millstream_runtime.serving.server import Features, Server
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, ProduceRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records import EndMarker, Record, check, decode_batches, encode_batch, split

TOPIC = "orders"
TOPIC_ID = UUID(int=77)
PATIENCE_S = 30


class Node:
    """One life of one broker."""

    def __init__(self, cluster: "Brokers", node_id: int, epoch: int, disk: Disk, **settings: Any) -> None:
        self.node_id, self.epoch = node_id, epoch
        self.world = SimulatedWorld(cluster.network, f"b{node_id}", cluster.random)
        self.config = BrokerConfig(
            node_id=node_id,
            data_dir=cluster.directory / f"b{node_id}",
            controllers=(("c0", 9093),),
            listeners=(r.Endpoint("PLAINTEXT", f"b{node_id}", 9092),),
            **settings,
        )
        self.image = Image()
        self.delays = Delays(self.world)
        self.directory = DataDir(self.config.data_dir, node_id=node_id, cluster_id="cluster-1", disk=disk)
        directories = LogDirs([self.directory], disk=disk)
        self.partitions = HostedPartitions(directories, self.delays, self.world, node_id=node_id)
        self.hosting = Hosting(
            self.config,
            self.partitions,
            AppliedMetadata(directories),
            SpareRoom(self.partitions, lambda _: (1000, 500)),
        )
        self.broker = Broker(
            self.config,
            self.world,
            ControllerLink(self.world, self.config.controllers, client_id="test"),
            self.partitions,
            self.delays,
            image=lambda: self.image,
            log_dir_space=lambda _: (1000, 500),
        )
        self.replication = Replication(self.broker, broker_epoch=lambda: self.epoch)
        self.upkeep = Upkeep(lambda: self.config, self.world, self.partitions)
        self.cleaner = Cleaner(lambda: self.config.cleaner, self.world, self.partitions)
        self.listening = asyncio.Event()
        self.requests: list[FetchRequest] = []
        """All that were asked of it by Fetch."""
        self.held_threads = 0
        self.may_go = asyncio.Event()
        """What those wait for."""

    def start(self) -> None:
        self.partitions.load()
        self.running = self.world.start(self._run())

    async def _run(self) -> None:
        served = HANDLERS[ApiKey.FETCH]

        def fetch(broker: Broker, request: FetchRequest, context: RequestContext) -> Any:
            self.requests.append(request)
            return served.handle(broker, request, context)

        def usual_fetch(broker: Broker, frame: Any, position: int, context: RequestContext) -> Any:
            assert served.shortcut is not None
            reply = served.shortcut(broker, frame, position, context)
            if reply is not None:
                self.requests.append(decode(FetchRequest, context.version, bytes(frame[position:])))
            return reply

        server = Server(
            "broker",
            {**HANDLERS, ApiKey.FETCH: replace(served, handle=fetch, shortcut=usual_fetch)},
            self.broker,
            self.world,
            Limits(),
            features=lambda: Features({}, {}, 0),
            identity=lambda: Identity("cluster-1", frozenset({self.node_id})),
        )
        try:
            await listen_on(server, self.config.listeners)
            self.listening.set()
            async with asyncio.TaskGroup() as tasks:
                for part in (self.replication, self.hosting, self.partitions.removals):
                    tasks.create_task(part.run())
        finally:
            self.delays.close()
            await server.close()
            await self.broker.close()

    def learn(self, records: list[r.MetadataRecord]) -> None:
        for record in records:
            self.image.apply(record, self.image.offset + 1)
        self.hosting.on_records(self.image, records)
        if self.hosting.serves:
            self.broker.on_image(self.image)

    def replica(self, index: int = 0) -> HostedPartition:
        replica = self.partitions.find(TOPIC, index)
        assert replica is not None
        return replica

    def append(self, *values: str, index: int = 0, **options: Any) -> int:
        """As a producer with acks=1 has it appended, in one batch."""
        replica = self.replica(index)
        assert replica.partition.leads
        records = [Record(0, 1_700_000_000_000, value.encode(), value.encode()) for value in values]
        content = bytearray(encode_batch(records, **options))
        now_ms = self.world.now_ms()
        epoch = replica.partition.leader_epoch
        replica.log.append(content, check(content), leader_epoch=epoch, now_ms=now_ms)
        self.broker.appended(replica, len(content))
        return int(replica.log.log_end_offset)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """As its coordinator has it ended."""
        replica = self.replica()
        record = EndMarker(committed=committed, coordinator_epoch=1).encode(self.world.now_ms())
        content = bytearray(
            encode_batch([record], producer_id=producer_id, producer_epoch=0, transactional=True, control=True)
        )
        entry = replica.log.producer(producer_id)
        begun = -1 if entry is None else int(entry.transaction_start)
        epoch = int(replica.partition.leader_epoch)
        replica.log.append_control(content, check(content), leader_epoch=epoch, now_ms=self.world.now_ms())
        self.broker.appended(replica, len(content), ended_from=begun)

    def hold_threads(self, after: int = 0) -> asyncio.Event:
        """Let what is to be done in threads wait for the event that is returned, but for the first `after` of it."""
        may_go, run_blocking = asyncio.Event(), self.world.run_blocking
        seen = 0

        async def held(work: Callable[[], Any]) -> Any:
            nonlocal seen
            seen += 1
            if seen > after:
                self.held_threads += 1
                await may_go.wait()
            return await run_blocking(work)

        self.world.run_blocking = held  # type: ignore[method-assign]
        return may_go

    def batches(self, index: int = 0) -> list[bytes]:
        """All that the log holds, byte for byte."""
        log = self.replica(index).log
        found: list[bytes] = []
        offset = int(log.log_start_offset)
        while (read := log.read(offset, 1 << 20)) is not None:
            found += [bytes(each) for each in split(read.slice.read())]
            offset = read.next_offset
        return found

    def values(self, index: int = 0) -> list[str]:
        log = self.replica(index).log
        start = int(log.log_start_offset)
        return [
            (record.value or b"").decode()
            for batch in self.batches(index)
            for record in decode_batches(batch)
            if record.offset >= start
        ]


class Brokers:
    """Brokers 1, 2 and 3, and the log of metadata."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.random = random.Random(5)
        self.network = SimulatedNetwork(self.random, Conditions())
        self.nodes: dict[int, Node] = {}
        self.disks: dict[int, Disk] = {}
        self._client_world = SimulatedWorld(self.network, "client", self.random)
        elected = r.ControllerElected(NodeId(20_000), ControllerEpoch(1), "c", 1)
        self._records: list[r.MetadataRecord] = [r.ClusterCreated("cluster-1"), elected]
        self._partitions: dict[int, r.PartitionCreated | r.PartitionChanged] = {}

    async def start(self, node_id: int, *, hold: int | None = None, rack: str | None = None, **settings: Any) -> Node:
        """Begin a life of a broker: it registers, and knows all of the metadata; `hold` is as for `hold_threads`."""
        epoch = len(self._records) + 100
        endpoint = r.Endpoint("PLAINTEXT", f"b{node_id}", 9092)
        disk = self.disks.get(node_id, DISK)
        node = Node(self, node_id, epoch, disk, rack=rack, **settings)
        if hold is not None:
            node.may_go = node.hold_threads(hold)
        node.start()
        await node.listening.wait()
        self.learn(
            r.NodeRegistered(NodeId(node_id), BrokerEpoch(epoch), UUID(int=node_id), (endpoint,), rack),
            r.NodeUnfenced(NodeId(node_id), BrokerEpoch(epoch)),
        )
        self.nodes[node_id] = node
        node.learn(list(self._records))
        node.hosting.start(node.image)
        node.broker.on_image(node.image)
        return node

    async def kill(self, node_id: int) -> None:
        node = self.nodes.pop(node_id)
        await node.world.kill()
        node.partitions.abandon()

    async def stop(self, node_id: int) -> None:
        """Cleanly."""
        node = self.nodes.pop(node_id)
        await node.world.stop()
        node.partitions.close(node.epoch)
        await node.world.kill()

    def learn(self, *records: r.MetadataRecord) -> None:
        self._records += records
        for node in self.nodes.values():
            node.learn(list(records))

    def create(self, *replicas: int, partitions: int = 1, **configs: str) -> None:
        """The first of the replicas leads, all are in sync."""
        nodes = tuple(map(NodeId, replicas))
        created = [
            r.PartitionCreated(TOPIC_ID, index, nodes, nodes, nodes[0], LeaderEpoch(0), PartitionEpoch(0))
            for index in range(partitions)
        ]
        self._partitions.update(enumerate(created))
        settings = [
            r.ConfigChanged(r.ResourceType.TOPIC, TOPIC, key.replace("_", "."), value) for key, value in configs.items()
        ]
        self.learn(r.TopicCreated(TOPIC, TOPIC_ID, False), *settings, *created)

    def elect(
        self,
        leader: int,
        *,
        isr: tuple[int, ...] | None = None,
        replicas: tuple[int, ...] | None = None,
        index: int = 0,
        epochs: int = 1,
    ) -> None:
        """Let this one lead, in the next leader epoch."""
        before = self._partitions[index]
        after = r.PartitionChanged(
            TOPIC_ID,
            index,
            before.replicas if replicas is None else tuple(map(NodeId, replicas)),
            before.isr if isr is None else tuple(map(NodeId, isr)),
            NodeId(leader),
            LeaderEpoch(before.leader_epoch + epochs),
            PartitionEpoch(before.partition_epoch + 1),
        )
        self._partitions[index] = after
        self.learn(after)

    def add_partition(self, index: int, *replicas: int) -> None:
        nodes = tuple(map(NodeId, replicas))
        created = r.PartitionCreated(TOPIC_ID, index, nodes, nodes, nodes[0], LeaderEpoch(0), PartitionEpoch(0))
        self._partitions[index] = created
        self.learn(created)

    def create_again(self, topic_id: UUID, *replicas: int) -> None:
        """Another topic under the name of the first, which is deleted."""
        nodes = tuple(map(NodeId, replicas))
        self.learn(
            r.TopicDeleted(TOPIC_ID),
            r.TopicCreated(TOPIC, topic_id, False),
            r.PartitionCreated(topic_id, 0, nodes, nodes, nodes[0], LeaderEpoch(0), PartitionEpoch(0)),
        )

    def configure(self, **configs: str) -> None:
        self.learn(
            *(
                r.ConfigChanged(r.ResourceType.TOPIC, TOPIC, key.replace("_", "."), value)
                for key, value in configs.items()
            )
        )

    def begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(work)

    async def rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def nobody_leads(self, index: int = 0) -> None:
        self.elect(int(NO_NODE), index=index)

    async def until(self, condition: Callable[[], bool], within_s: float = PATIENCE_S) -> float:
        """Wait for it; return how long that took."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(within_s):
            while True:
                for node in self.nodes.values():
                    if node.running.done():
                        node.running.result()
                try:
                    if condition():
                        return loop.time() - began
                except LogError:
                    pass
                await asyncio.sleep(0.002)

    async def until_same(self, one: int, other: int, index: int = 0, within_s: float = PATIENCE_S) -> float:
        """Until both logs hold the same, byte for byte."""
        first, second = self.nodes[one], self.nodes[other]

        def same() -> bool:
            ends = first.replica(index).log.log_end_offset == second.replica(index).log.log_end_offset
            return bool(ends) and first.batches(index) == second.batches(index)

        took = await self.until(same, within_s)
        for node in first, second:
            node.replica(index).check()
        return took

    async def produce(self, node_id: int, value: str, acks: int = -1, timeout_ms: int = 5_000) -> ErrorCode:
        batch = encode_batch([Record(0, 1_700_000_000_000, b"k", value.encode())])
        part = PartitionProduceData(index=0, records=batch)
        request = ProduceRequest(
            acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(name=TOPIC, partition_data=[part])]
        )
        answer = await self.ask(node_id, request, version=9)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    async def fetch(
        self,
        node_id: int,
        offset: int,
        *,
        leader_epoch: int = -1,
        last_epoch: int = -1,
        version: int | None = None,
        **fields: Any,
    ) -> Any:
        part = FetchPartition(
            partition=0,
            fetch_offset=offset,
            partition_max_bytes=1 << 20,
            current_leader_epoch=leader_epoch,
            last_fetched_epoch=last_epoch,
        )
        topic = FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[part])
        request = FetchRequest(max_bytes=1 << 20, topics=[topic], **fields)
        return (await self.ask(node_id, request, version)).responses[0].partitions[0]

    async def ask(self, node_id: int, message: Any, version: int | None = None) -> Any:
        client = await Client.connect(self._client_world, f"b{node_id}", 9092, client_id="t")
        try:
            return await client.request(message, timeout_ms=20_000, version=version)
        finally:
            await client.close()

    async def close(self) -> None:
        for node_id in list(self.nodes):
            await self.kill(node_id)


@pytest.fixture
def scene(tmp_path: Path) -> Callable[[Callable[[Brokers], Coroutine[Any, Any, None]]], None]:
    """Run a scenario with brokers of its own, in virtual time."""

    def run(scenario: Callable[[Brokers], Coroutine[Any, Any, None]]) -> None:
        async def whole() -> None:
            brokers = Brokers(tmp_path)
            try:
                await scenario(brokers)
            finally:
                await brokers.close()

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(whole())

    return run


__all__ = ["Brokers", "ClientError", "Node"]
