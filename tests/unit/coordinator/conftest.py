"""A coordinator with a real controller and a real broker beside it, on loopback; requests travel as clients send them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_cluster.coordinator_topics import CoordinatorTopic, CoordinatorTopics
from millstream_cluster.ids import NO_NODE, NodeId
from millstream_cluster.records import Endpoint
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_coordinator.app import CoordinatorApp
from millstream_coordinator.config import CoordinatorConfig
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client
from millstream_runtime.properties import Properties
from millstream_runtime.world import RealWorld
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateTopicsRequest, DeleteTopicsRequest, FindCoordinatorRequest, MetadataRequest
from millstream_wire.messages.create_topics import CreatableTopic

ANY_PORT = (Endpoint("PLAINTEXT", "127.0.0.1", 0),)
PATIENCE_SECONDS = 20
OFFSETS_PARTITIONS = 2


class Running:
    """A service that can be stopped as by a signal."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> "Running":
        self._task = asyncio.create_task(self.app.run())
        ready = asyncio.create_task(self.app.ready.wait())
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.wait([self._task, ready], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._task.done():
            self._task.result()
        return self

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @property
    def address(self) -> tuple[str, int]:
        return next(iter(self.app.listeners.values()))


class Cluster:
    """One controller, one broker, one coordinator (more if asked for) with two shards."""

    __test__ = False
    offsets_partitions = OFFSETS_PARTITIONS

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = AsyncExitStack()
        self.controller: Running
        self.broker: Running
        self.coordinator: Running

    async def start(self) -> None:
        store = {"controller.store": f"file:{self._directory / 'c'}", "listeners": "CONTROLLER://127.0.0.1:0"}
        controller = ControllerConfig.from_properties(Properties(store))
        self.controller = await self._run(ControllerApp(controller, _world()))
        broker = BrokerConfig(
            node_id=0,
            data_dir=self._directory / "b",
            controllers=(self.controller.address,),
            listeners=ANY_PORT,
            heartbeat_interval_ms=100,
            coordinator_topics=CoordinatorTopics(offsets=CoordinatorTopic(partitions=OFFSETS_PARTITIONS)),
        )
        self.broker = await self._run(BrokerApp(broker, _world()))
        self.coordinator = await self.add_coordinator(0)

    async def add_coordinator(self, number: int, **settings: Any) -> Running:
        config = CoordinatorConfig(
            node_id=10_000 + number,
            controllers=(self.controller.address,),
            listeners=ANY_PORT,
            heartbeat_interval_ms=100,
            groups=GroupLimits(initial_rebalance_delay_ms=0, session_timeout_min_ms=100),
        )
        return await self._run(CoordinatorApp(replace(config, **settings), _world()))

    async def close(self) -> None:
        await self._stack.aclose()

    async def client(self, address: tuple[str, int], node_id: NodeId = NO_NODE, client_id: str = "test") -> Client:
        connected = await Client.connect(_world(), *address, client_id=client_id, node_id=node_id)
        self._stack.push_async_callback(connected.close)
        return connected

    async def create_topic(self, name: str, partitions: int = 2) -> None:
        asked = await self.client(self.broker.address)
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        await asked.request(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), timeout_ms=5_000)
        coordinator = await self.client(self.coordinator.address)

        async def is_known() -> bool:
            answer = await coordinator.request(MetadataRequest(topics=None), timeout_ms=5_000)
            return any(topic.name == name for topic in answer.topics)

        await until(is_known)

    async def delete_topic(self, name: str) -> None:
        asked = await self.client(self.broker.address)
        await asked.request(DeleteTopicsRequest(topic_names=[name], timeout_ms=5_000), timeout_ms=5_000, version=5)

    async def coordinator_of(self, group_id: str) -> Client:
        """A connection to the group's coordinator once it serves the group."""
        broker = await self.client(self.broker.address)
        found: list[Any] = []

        async def is_found() -> bool:
            request = FindCoordinatorRequest(coordinator_keys=[group_id])
            answer = await broker.request(request, timeout_ms=5_000)
            found[:] = answer.coordinators
            return found[0].error_code == ErrorCode.NONE

        await until(is_found)
        return await self.client((found[0].host, found[0].port))

    async def _run(self, app: Any) -> Running:
        running = await Running(app).start()
        self._stack.push_async_callback(running.stop)
        return running


async def until(is_true: Any) -> None:
    for _ in range(1_000):
        if await is_true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came true")


def _world() -> RealWorld:
    return RealWorld(SocketNetwork())


@asynccontextmanager
async def _cluster(directory: Path) -> AsyncIterator[Cluster]:
    cluster = Cluster(directory)
    try:
        await cluster.start()
        yield cluster
    finally:
        await cluster.close()


@pytest.fixture
def cluster_at(tmp_path: Path) -> Any:
    """`async with cluster_at() as cluster`, inside `asyncio.run`."""
    return lambda: _cluster(tmp_path)
