"""Three brokers with a topic of three replicas: they are stopped, killed and emptied one after the other."""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from controller_machines import run
from replicated_brokers import BROKERS, Cluster

from millstream_cluster.ids import NO_NODE, NodeId
from millstream_controller.shell.active import FOLLOWED_MS_MAX
from millstream_runtime.nodes.client import Client
from millstream_runtime.simulated.network import Conditions
from millstream_runtime.simulated.world import SimulatedWorld


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


def test_a_broker_that_stops_lets_its_clients_go_once_the_others_know(scene: Any) -> None:
    """A client whose connection closes asks another broker who leads now: one that is told who led would come back."""

    async def scenario(cluster: Cluster) -> None:
        await cluster.produce("a")
        leader = cluster.partition.leader
        slow = next(node_id for node_id in BROKERS if node_id != leader)
        cluster.machines.network.links["c0", f"b{slow}"] = Conditions(delay_ms=(150.0, 150.0))
        world = SimulatedWorld(cluster.machines.network, "idle", cluster.machines.random)
        idle = await Client.connect(world, f"b{leader}", 9092, client_id="idle")
        began = asyncio.get_running_loop().time()
        stopping = asyncio.ensure_future(cluster.stop(leader))
        await cluster.until(lambda: idle.closed)
        for app in cluster.apps.values():
            assert app.follower is not None
            image = app.follower.image
            stopping_one, partition = image.node(NodeId(leader)), image.partition("orders", 0)
            assert partition is not None
            assert partition.leader not in (leader, NO_NODE)
            assert stopping_one is not None
            assert not stopping_one.fenced, "librdkafka loses partitions of a broker that is named no more"
        assert 0.15 < asyncio.get_running_loop().time() - began < 1
        await stopping

    scene(scenario)


def test_a_broker_that_stops_does_not_wait_for_one_that_is_silent(scene: Any) -> None:
    async def scenario(cluster: Cluster) -> None:
        leader = cluster.partition.leader
        silent = next(node_id for node_id in BROKERS if node_id != leader)
        cluster.machines.network.cut("c0", f"b{silent}")
        began = asyncio.get_running_loop().time()
        await cluster.stop(leader)
        assert asyncio.get_running_loop().time() - began < 2 * FOLLOWED_MS_MAX / 1000
        cluster.machines.network.heal()
        await cluster.start(leader)
        await cluster.until_all_are_in_sync()

    scene(scenario)


def test_a_broker_that_stops_is_not_proposed_for_what_it_has_left(scene: Any, caplog: pytest.LogCaptureFixture) -> None:
    """It would be refused, but until that is known nothing is committed without it."""

    async def scenario(cluster: Cluster) -> None:
        caplog.set_level(logging.INFO)
        for node_id in BROKERS:
            stopping = asyncio.ensure_future(cluster.stop(node_id))
            for turn in range(5):
                await cluster.produce(f"while {node_id} stops {turn}")
            await stopping
            await cluster.start(node_id)
            await cluster.until_all_are_in_sync()

    scene(scenario)
    assert "isr not changed" not in caplog.text
