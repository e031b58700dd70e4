"""Three brokers with a topic of three replicas: they are stopped, killed and emptied one after the other."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from controller_machines import run
from replicated_brokers import BROKERS, Cluster


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
