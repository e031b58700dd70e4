"""What a broker that starts makes of metadata that may be old, and of directories that are gone: whole nodes, in virtual time."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from controller_machines import Machines, run, sound_api_server

from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_cluster.ids import NO_NODE
from millstream_cluster.members import Partition
from millstream_cluster.records import Endpoint
from millstream_runtime.nodes.client import Client, ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    FetchRequest,
    ProduceRequest,
)
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.delete_topics import DeleteTopicState
from millstream_wire.messages.elect_leaders import TopicPartitions
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records import Record, decode_batches, encode_batch

T = TypeVar("T")
UNCLEAN = 1
FETCH_WITH_NAMES = 12
PRODUCE_WITH_NAMES = 9


class Cluster:
    """Controllers over an API server that each of them can be cut off from, and broker 1 with a disk."""

    def __init__(self, directory: Path) -> None:
        self.machines = Machines(directory / "unused", api_server=sound_api_server())
        self.data = directory / "data"
        self.app: BrokerApp | None = None
        self._client_world = SimulatedWorld(self.machines.network, "client", self.machines.random)

    def store(self, host: str, *, away: bool) -> None:
        assert self.machines.api_server is not None
        self.machines.api_server.access(host).cut = away

    async def start_broker(self) -> BrokerApp:
        self.world = SimulatedWorld(self.machines.network, "b1", self.machines.random)
        config = BrokerConfig(
            node_id=1,
            data_dir=self.data,
            controllers=(("c0", 9093), ("c1", 9093)),
            listeners=(Endpoint("PLAINTEXT", "b1", 9092),),
        )
        self.app = BrokerApp(config, self.world)
        self.running = self.world.start(self.app.run())
        return self.app

    async def ready_broker(self) -> BrokerApp:
        app = await self.start_broker()
        waiting = asyncio.ensure_future(app.ready.wait())
        async with asyncio.timeout(100):
            await asyncio.wait([waiting, self.running], return_when=asyncio.FIRST_COMPLETED)
        if self.running.done():
            await self.running
        return app

    async def stop_broker(self) -> None:
        await self.world.stop()
        await self.world.kill()

    async def create(self, *topics: str, partitions: int = 1, by: str = "c0") -> None:
        admin = ControllerLink(self._client_world, [(by, 9093)], client_id="admin")
        wanted = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in topics]
        answer = await admin.request(CreateTopicsRequest(topics=wanted), timeout_ms=20_000)
        assert [each.error_code for each in answer.topics] == [ErrorCode.NONE] * len(topics)
        await admin.close()

    async def ask(self, message: Any, version: int | None = None) -> Any:
        client = await Client.connect(self._client_world, "b1", 9092, client_id="t")
        try:
            return await client.request(message, timeout_ms=10_000, version=version)
        finally:
            await client.close()

    async def produce(self, topic: str, value: bytes, partition: int = 0) -> ErrorCode:
        batch = encode_batch([Record(0, 1_700_000_000_000, b"k", value, ())])
        part = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=topic, partition_data=[part])]
        )
        answer = await self.ask(request, PRODUCE_WITH_NAMES)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    async def values(self, topic: str) -> list[bytes] | ErrorCode:
        part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=[part])])
        found = (await self.ask(request, FETCH_WITH_NAMES)).responses[0].partitions[0]
        if found.error_code != ErrorCode.NONE:
            return ErrorCode(found.error_code)
        return [record.value for record in decode_batches(found.records or b"")]

    def partition(self, topic: str) -> Partition | None:
        """As the broker's metadata has it."""
        assert self.app is not None
        return self.app.follower.image.partition(topic, 0)

    def directories(self) -> list[str]:
        return sorted(path.name for path in self.data.iterdir() if path.is_dir())


async def eventually(ask: Callable[[], Awaitable[T]], wanted: T, within_s: float = 60) -> None:
    """Ask until the answer is the one that is wanted."""
    last: object = None
    try:
        async with asyncio.timeout(within_s):
            while last != wanted:
                try:
                    last = await ask()
                except ClientError as error:
                    last = error
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{last} and not {wanted} after {within_s} s") from None


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


async def strand(cluster: Cluster) -> None:
    """The active controller loses its store and its peer, and for now the broker; the other one is elected."""
    machines = cluster.machines
    cluster.store("c0", away=True)
    machines.network.cut("c0", "c1")
    assert await machines.active(not_on="c0") == "c1"
    machines.network.cut("c0", "b1")
    elected = machines.apps["c1"].active

    async def follows_the_elected() -> bool:
        return cluster.app is not None and cluster.app.follower.image.offset == elected.log.image.offset

    await eventually(follows_the_elected, True)


def test_a_restarted_broker_keeps_what_it_acknowledged(cluster: Cluster) -> None:
    """It is started again a moment after it learned of a topic, and asks first who was deposed before that."""

    async def scenario() -> None:
        await cluster.machines.start(0)
        await cluster.machines.start(1)
        await cluster.ready_broker()
        await strand(cluster)
        await cluster.create("orders", by="c1")
        await eventually(lambda: cluster.produce("orders", b"acknowledged"), ErrorCode.NONE)
        cluster.machines.network.mend("c0", "b1")
        await cluster.world.kill()
        await cluster.start_broker()
        await asyncio.sleep(20)
        assert cluster.directories() == ["orders-0"]
        cluster.store("c0", away=False)
        cluster.machines.network.heal()
        await eventually(lambda: cluster.values("orders"), [b"acknowledged"])

    run(scenario())


def test_metadata_of_a_controller_that_was_just_deposed_renames_nothing(cluster: Cluster) -> None:
    """It is still believed, for a moment, and its log ends before the topic; the note of what was applied was lost."""

    async def scenario() -> None:
        await cluster.machines.start(0, controller_verify_timeout_ms="3600000")
        await cluster.machines.start(1)
        await cluster.ready_broker()
        await strand(cluster)
        await cluster.create("orders", by="c1")
        await eventually(lambda: cluster.produce("orders", b"acknowledged"), ErrorCode.NONE)
        cluster.machines.network.mend("c0", "b1")
        cluster.machines.network.cut("c1", "b1")
        await cluster.world.kill()
        (cluster.data / "metadata.applied").unlink()
        await cluster.start_broker()
        await asyncio.sleep(60)
        assert cluster.app is not None
        assert cluster.app.follower.image.topic("orders") is None, "it believes the deposed one"
        assert cluster.directories() == ["orders-0"]
        cluster.machines.network.heal()
        cluster.store("c0", away=False)
        await eventually(lambda: cluster.values("orders"), [b"acknowledged"])

    run(scenario())


def test_what_was_applied_is_on_the_disk_before_a_directory_is_made(cluster: Cluster) -> None:
    """Once for all that one batch of records creates, and once more before any of them serves."""

    async def scenario() -> None:
        await cluster.machines.start(0)
        await cluster.ready_broker()
        stored = []

        def look(path: Path) -> None:
            text = (cluster.data / "metadata.applied").read_text().splitlines()
            offset = next(int(line.removeprefix("offset=")) for line in text if line.startswith("offset="))
            stored.append((offset, path.name))

        disk = cluster.app.partitions.directories.disk  # type: ignore[union-attr]
        made = type(disk).mkdir

        def mkdir(self: Any, path: Path) -> None:
            look(path)
            made(self, path)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(disk), "mkdir", mkdir)
            await cluster.create("orders", "wide", partitions=30)
            await eventually(lambda: cluster.produce("wide", b"there", 29), ErrorCode.NONE)
        created = cluster.app.follower.image.offset  # type: ignore[union-attr]
        assert len(stored) == 60
        assert {offset for offset, _ in stored} == {created}

    run(scenario())


def test_a_partition_whose_directory_is_gone_is_offline_and_not_led_empty(cluster: Cluster, caplog: Any) -> None:
    async def scenario() -> None:
        await cluster.machines.start(0)
        await cluster.ready_broker()
        await cluster.create("orders", "others")
        for topic in "orders", "others":
            await eventually(lambda topic=topic: cluster.produce(topic, b"acknowledged"), ErrorCode.NONE)  # type: ignore[misc]
        await cluster.stop_broker()
        shutil.rmtree(cluster.data / "orders-0")
        await cluster.ready_broker()
        await eventually(lambda: cluster.values("others"), [b"acknowledged"])
        for _ in range(3):
            assert await cluster.values("orders") is ErrorCode.KAFKA_STORAGE_ERROR
            assert await cluster.produce("orders", b"too late") is ErrorCode.KAFKA_STORAGE_ERROR
            await asyncio.sleep(10)
        assert cluster.directories() == ["others-0"]
        partition = cluster.partition("orders")
        assert partition is not None
        assert (partition.leader, partition.isr, partition.replicas) == (NO_NODE, (), (1,))
        await cluster.world.kill()
        await cluster.ready_broker()
        assert await cluster.values("orders") is ErrorCode.KAFKA_STORAGE_ERROR
        assert cluster.directories() == ["others-0"]

    run(scenario())
    assert caplog.text.count("partition lost partition=orders-0") == 2, "once in each life"


def test_a_person_may_accept_a_loss_by_an_unclean_election(cluster: Cluster) -> None:
    async def scenario() -> None:
        await cluster.machines.start(0)
        await cluster.ready_broker()
        await cluster.create("orders")
        await eventually(lambda: cluster.produce("orders", b"lost"), ErrorCode.NONE)
        await cluster.stop_broker()
        shutil.rmtree(cluster.data / "orders-0")
        await cluster.ready_broker()
        ballot = TopicPartitions(topic="orders", partitions=[0])
        answer = await cluster.ask(ElectLeadersRequest(election_type=UNCLEAN, topic_partitions=[ballot]))
        assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE
        await eventually(lambda: cluster.produce("orders", b"anew"), ErrorCode.NONE)
        await cluster.world.kill()
        await cluster.ready_broker()
        await eventually(lambda: cluster.values("orders"), [b"anew"])

    run(scenario())


def test_a_topic_that_is_deleted_takes_its_losses_with_it(cluster: Cluster) -> None:
    async def scenario() -> None:
        await cluster.machines.start(0)
        await cluster.ready_broker()
        await cluster.create("orders")
        await eventually(lambda: cluster.produce("orders", b"lost"), ErrorCode.NONE)
        await cluster.stop_broker()
        shutil.rmtree(cluster.data / "orders-0")
        await cluster.ready_broker()
        answer = await cluster.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=5_000))
        assert answer.responses[0].error_code == ErrorCode.NONE
        await cluster.create("orders")
        await eventually(lambda: cluster.produce("orders", b"another topic"), ErrorCode.NONE)
        assert await cluster.values("orders") == [b"another topic"]

    run(scenario())


def test_an_empty_disk_under_an_old_id_is_a_new_incarnation_as_ever(cluster: Cluster) -> None:
    async def scenario() -> None:
        await cluster.machines.start(0)
        await cluster.ready_broker()
        await cluster.create("orders")
        await eventually(lambda: cluster.produce("orders", b"lost"), ErrorCode.NONE)
        await cluster.stop_broker()
        shutil.rmtree(cluster.data)
        await cluster.ready_broker()
        partition = cluster.partition("orders")
        assert partition is not None
        assert (partition.leader, partition.isr) == (NO_NODE, ())
        assert await cluster.produce("orders", b"no leader") is ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(scenario())


@pytest.mark.parametrize("killed_at", ["mkdir", "partition.metadata", "listing"])
def test_a_kill_while_partitions_are_made_loses_none_of_them(cluster: Cluster, killed_at: str) -> None:
    """What was being made held nothing yet: it is made again, and not taken for lost."""

    async def scenario() -> None:
        await cluster.machines.start(0)
        await cluster.ready_broker()
        assert cluster.app is not None
        disk = cluster.app.partitions.directories.disk
        real = type(disk).mkdir, type(disk).rename

        def mkdir(self: Any, path: Path) -> None:
            if killed_at == "mkdir" and path.name.endswith("-2"):
                raise OSError(5, "the process is dead")
            real[0](self, path)

        def rename(self: Any, old: Path, new: Path) -> None:
            wanted = new.name == killed_at and new.parent.name.endswith("-2")
            if wanted or (
                killed_at == "listing" and new.name == "metadata.applied" and "wide-2" in cluster.directories()
            ):
                raise OSError(5, "the process is dead")
            real[1](self, old, new)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(disk), "mkdir", mkdir)
            patched.setattr(type(disk), "rename", rename)
            await cluster.create("wide", partitions=4)
            await asyncio.sleep(2)
            await cluster.world.kill()
        await cluster.ready_broker()
        for number in range(4):
            await eventually(lambda number=number: cluster.produce("wide", b"there", number), ErrorCode.NONE)  # type: ignore[misc]

    run(scenario())


def test_the_only_replica_serves_before_it_is_registered(cluster: Cluster) -> None:
    """Nobody else can lead it: see docs/decisions/proven-metadata.md. With other replicas it does not, by the same rule."""

    async def scenario() -> None:
        await cluster.machines.start(0, controller_verify_timeout_ms="3600000")
        await cluster.ready_broker()
        await cluster.create("orders")
        await eventually(lambda: cluster.produce("orders", b"first"), ErrorCode.NONE)
        cluster.store("c0", away=True)
        await cluster.world.kill()
        app = await cluster.start_broker()
        await eventually(lambda: cluster.produce("orders", b"second"), ErrorCode.NONE)
        assert app.registration is not None
        assert app.registration.broker_epoch == -1

    run(scenario())
