"""The broker's life with a real controller beside it: start, serve, stop, crash, start again, and refuse what cannot be."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_cluster.ids import NodeId
from millstream_cluster.records import Endpoint
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client
from millstream_runtime.properties import Properties
from millstream_runtime.service import ServiceFailed
from millstream_runtime.world import RealWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreateTopicsRequest,
    FetchRequest,
    InitProducerIdRequest,
    MetadataRequest,
    ProduceRequest,
)
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.metadata import MetadataRequestTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData

ANY_PORT = (Endpoint("PLAINTEXT", "127.0.0.1", 0),)
PATIENCE_SECONDS = 20


@asynccontextmanager
async def running(app: Any) -> AsyncIterator[tuple[str, int]]:
    """The service, ready, until the block ends; then stopped as by a signal."""
    task = asyncio.create_task(app.run())
    ready = asyncio.create_task(app.ready.wait())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield next(iter(app.listeners.values()))
    finally:
        ready.cancel()
        task.cancel()
        await asyncio.wait([task])


def controller_app(directory: Path) -> ControllerApp:
    properties = Properties({"controller.store": f"file:{directory}", "listeners": "CONTROLLER://127.0.0.1:0"})
    return ControllerApp(ControllerConfig.from_properties(properties), RealWorld(SocketNetwork()))


@asynccontextmanager
async def controller(directory: Path) -> AsyncIterator[tuple[str, int]]:
    async with running(controller_app(directory)) as address:
        yield address


def broker(data_dir: Path, address: tuple[str, int], **settings: Any) -> BrokerApp:
    config = BrokerConfig(
        node_id=1, data_dir=data_dir, controllers=(address,), listeners=ANY_PORT, heartbeat_interval_ms=100
    )
    return BrokerApp(replace(config, **settings), RealWorld(SocketNetwork()))


@asynccontextmanager
async def client(address: tuple[str, int]) -> AsyncIterator[Client]:
    connected = await Client.connect(RealWorld(SocketNetwork()), *address, client_id="test")
    try:
        yield connected
    finally:
        await connected.close()


async def create_topic(asked: Client, name: str) -> None:
    reply = await asked.request(
        CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)]), timeout_ms=5000
    )
    assert reply.topics[0].error_code == 0
    await until_led(asked, name)


async def until_led(asked: Client, name: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            reply = await asked.request(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), timeout_ms=5000)
            if reply.topics[0].error_code == 0 and reply.topics[0].partitions[0].error_code == 0:
                return
            await asyncio.sleep(0.01)


async def produce(asked: Client, records: bytes, name: str = "orders") -> Any:
    data = TopicProduceData(name=name, partition_data=[PartitionProduceData(index=0, records=records)])
    reply = await asked.request(ProduceRequest(acks=-1, topic_data=[data]), timeout_ms=5000, version=9)
    return reply.responses[0].partition_responses[0]


async def fetch(asked: Client, offset: int = 0, name: str = "orders") -> Any:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(min_bytes=1, max_wait_ms=5000, topics=[FetchTopic(topic=name, partitions=[partition])])
    reply = await asked.request(request, timeout_ms=10_000, version=12)
    return reply.responses[0].partitions[0]


def test_records_survive_a_clean_stop_and_a_crash(tmp_path: Path, batch: Any, values: Any) -> None:
    async def scenario() -> None:
        async with controller(tmp_path / "controller") as address:
            first = broker(tmp_path / "data", address)
            async with running(first) as own, client(own) as asked:
                await create_topic(asked, "orders")
                assert (await produce(asked, batch("a"))).base_offset == 0
            assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()

            app = broker(tmp_path / "data", address)
            async with running(app) as own, client(own) as asked:
                await until_led(asked, "orders")
                assert (await produce(asked, batch("b"))).base_offset == 1
                assert previous_life(app) == first.registration.broker_epoch, "a clean stop is proof of what it had"
                app._world.killed = True  # type: ignore[attr-defined]
            assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists()

            third = broker(tmp_path / "data", address)
            async with running(third) as own, client(own) as asked:
                await until_led(asked, "orders")
                assert previous_life(third) == -1, "a crash proves nothing"
                assert values((await fetch(asked)).records) == [(0, "a"), (1, "b")]

    asyncio.run(scenario())


def previous_life(app: BrokerApp) -> int:
    """Of which the broker says that it ended cleanly, as the controller wrote it down."""
    assert app.follower is not None
    node = app.follower.image.node(NodeId(1))
    assert node is not None
    return int(node.previous_epoch)


def test_a_long_poll_over_the_network_sees_an_append_of_another_connection(
    tmp_path: Path, batch: Any, values: Any
) -> None:
    async def scenario() -> None:
        async with (
            controller(tmp_path / "controller") as address,
            running(broker(tmp_path / "data", address)) as own,
            client(own) as reader,
            client(own) as writer,
        ):
            await create_topic(writer, "orders")
            reading = asyncio.create_task(fetch(reader))
            await asyncio.sleep(0.05)
            assert not reading.done()
            await produce(writer, batch("a"))
            assert values((await reading).records) == [(0, "a")]

    asyncio.run(scenario())


def test_what_is_served_goes_on_while_the_controller_is_away(tmp_path: Path, batch: Any, values: Any) -> None:
    async def scenario() -> None:
        async with controller(tmp_path / "controller") as address:
            app = broker(tmp_path / "data", address, request_timeout_ms=300, controlled_shutdown_timeout_ms=100)
            started = running(app)
            own = await started.__aenter__()
            async with client(own) as asked:
                await create_topic(asked, "orders")
        try:
            async with client(own) as asked:
                assert (await produce(asked, batch("a"))).error_code == 0
                assert values((await fetch(asked)).records) == [(0, "a")]
                ids = await asked.request(InitProducerIdRequest(transactional_id=None), timeout_ms=5000)
                assert ids.error_code == 0, "a block is at hand"
                late = await asked.request(
                    CreateTopicsRequest(topics=[CreatableTopic(name="late", num_partitions=1, replication_factor=1)]),
                    timeout_ms=5000,
                )
                assert late.topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT
        finally:
            await started.__aexit__(None, None, None)

    asyncio.run(scenario())


def test_another_clusters_data_and_a_taken_port_are_one_clear_line(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with controller(tmp_path / "one") as address, running(broker(tmp_path / "data", address)) as taken:
            other = broker(tmp_path / "other", address, listeners=(Endpoint("PLAINTEXT", *taken),))
            with pytest.raises(ServiceFailed, match="cannot listen on"):
                await other.run()
            with pytest.raises(ServiceFailed, match="in use by another process"):
                await broker(tmp_path / "data", address).run()
        async with controller(tmp_path / "two") as address:
            with pytest.raises(ExceptionGroup) as failed:
                await broker(tmp_path / "data", address).run()
            assert failed.group_contains(ServiceFailed, match="belongs to cluster")

    asyncio.run(scenario())


def test_a_metadata_log_that_was_put_back_is_refused_before_a_partition_is_touched(tmp_path: Path) -> None:
    """The store of a moment ago knows nothing of the newer topic: its data must not be taken for a stray."""
    store, data = tmp_path / "store", tmp_path / "data"

    async def scenario() -> None:
        async with controller(store) as address, running(broker(data, address)):
            pass
        shutil.copytree(store, tmp_path / "backup")
        async with controller(store) as address, running(broker(data, address)) as served, client(served) as asked:
            await create_topic(asked, "newer")
        shutil.rmtree(store)
        shutil.copytree(tmp_path / "backup", store)
        deceived = controller_app(store)
        governing = asyncio.create_task(deceived.run())
        await deceived.ready.wait()
        serving = asyncio.create_task(broker(data, deceived.listeners["CONTROLLER"]).run())
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(ServiceFailed, match="the metadata log went back"):
                await governing
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        assert (data / "newer-0").is_dir()
        (data / "metadata.applied").unlink()
        async with controller(store) as address, running(broker(data, address)):
            pass

    asyncio.run(scenario())
