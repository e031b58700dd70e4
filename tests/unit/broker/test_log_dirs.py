"""Brokers with two data directories each, of which one fails: what is in it goes to others, and the broker goes on."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from replicated_brokers import BROKERS
from two_directories import Directories, on_two_directories

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    MetadataRequest,
)


@pytest.fixture
def scene(tmp_path: Path) -> Callable[[Callable[[Directories], Awaitable[None]]], None]:
    return partial(on_two_directories, tmp_path)


def test_new_partitions_go_where_there_are_fewest_and_the_metadata_says_where(scene: Any) -> None:
    async def scenario(cluster: Directories) -> None:
        await cluster.create_single(1, "t1", "t2", "t3")
        described = await cluster.described(1)
        assert {code for code, _ in described.values()} == {0}
        assert sorted(count for _, count in described.values()) == [2, 2]
        await cluster.until(lambda: cluster.told(1) == cluster.id_of(1, cluster.where(1)))

    scene(scenario)


def test_a_directory_that_fails_takes_its_partitions_and_nothing_else(scene: Any) -> None:
    async def scenario(cluster: Directories) -> None:
        leader = cluster.partition.leader
        await cluster.create_single(leader, "beside", "with")
        broken = cluster.where(leader)
        (beside,) = (topic for topic in ("beside", "with") if cluster.where(leader, topic) != broken)
        (gone,) = {"beside", "with"} - {beside}
        await cluster.produce("a")
        await cluster.until(lambda: cluster.told(leader) == cluster.id_of(leader, broken))
        cluster.breakable[leader].broken = cluster.path(leader, broken)
        await cluster.produce("b", "c")
        assert cluster.partition.leader != leader
        await cluster.until(lambda: leader not in cluster.partition.isr)
        assert cluster.leads(leader, beside), "the other directory and its broker go on"
        assert not cluster.image(leader).node(leader).fenced
        await cluster.until(lambda: cluster.image(leader).partition(gone, 0).leader == -1)
        assert cluster.image(leader).partition(gone, 0).isr == (leader,), (
            "its only replica comes back with its directory"
        )
        described = await cluster.described(leader)
        assert described[broken] == (ErrorCode.KAFKA_STORAGE_ERROR, 0)
        assert described[cluster.other(broken)] == (0, 1)
        metadata = await cluster.ask(leader, MetadataRequest(topics=None), 9)
        offline = {topic.name: topic.partitions[0].offline_replicas for topic in metadata.topics}
        assert offline == {"orders": [leader], gone: [leader], beside: []}
        assert await cluster.values() == ["a", "b", "c"]

    scene(scenario)


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_a_directory_that_is_there_again_at_the_next_start_has_what_it_had(scene: Any, ends: str) -> None:
    async def scenario(cluster: Directories) -> None:
        leader = cluster.partition.leader
        await cluster.create_single(leader, "t1", "t2")
        broken = cluster.where(leader)
        await cluster.produce("a")
        await cluster.until(lambda: cluster.told(leader) == cluster.id_of(leader, broken))
        cluster.breakable[leader].broken = cluster.path(leader, broken)
        await cluster.produce("b")
        await getattr(cluster, ends)(leader)
        await cluster.start(leader)
        assert set(await cluster.described(leader)) == {"a", "b"}, "it starts without it"
        assert sorted(cluster.leads(leader, topic) for topic in ("t1", "t2")) == [False, True]
        assert not (cluster.path(leader, cluster.other(broken)) / "orders-0").exists(), "no empty stand-in"
        await getattr(cluster, ends)(leader)
        cluster.breakable[leader].broken = None
        await cluster.start(leader)
        await cluster.until_all_are_in_sync()
        await cluster.until(lambda: cluster.leads(leader, "t1") and cluster.leads(leader, "t2"))
        assert cluster.where(leader) == broken
        assert await cluster.values() == ["a", "b"]

    scene(scenario)


def test_a_disk_that_was_replaced_is_filled_again(scene: Any) -> None:
    async def scenario(cluster: Directories) -> None:
        await cluster.produce("a", "b")
        leader = cluster.partition.leader
        node_id = next(each for each in BROKERS if each != leader)
        replaced = cluster.where(node_id)
        await cluster.create_single(node_id, "t1", "t2")
        (beside,) = (topic for topic in ("t1", "t2") if cluster.where(node_id, topic) != replaced)
        await cluster.until(lambda: cluster.told(node_id) == cluster.id_of(node_id, replaced))
        before = cluster.id_of(node_id, replaced)
        await cluster.kill(node_id)
        shutil.rmtree(cluster.path(node_id, replaced))
        cluster.path(node_id, replaced).mkdir()
        await cluster.produce("c")
        await cluster.start(node_id)
        await cluster.until_all_are_in_sync()
        assert before not in cluster.image(node_id).node(node_id).log_dirs
        replica = cluster.apps[node_id].partitions.find("orders", 0)  # type: ignore[union-attr]
        assert replica is not None
        assert replica.log.log_end_offset == 3
        await cluster.until(lambda: cluster.told(node_id) == replica.directory.directory_id)
        assert cluster.leads(node_id, beside), "the other disk's partitions never left"
        (lost,) = {"t1", "t2"} - {beside}
        assert cluster.image(node_id).partition(lost, 0).isr == (), "nobody has the only copy any more"
        assert await cluster.values() == ["a", "b", "c"]

    scene(scenario)


def test_a_directory_that_is_missing_at_the_start_is_not_made_anew(scene: Any) -> None:
    """A disk that was not mounted: what is on it is not lost."""

    async def scenario(cluster: Directories) -> None:
        await cluster.produce("a")
        leader = cluster.partition.leader
        node_id = next(each for each in BROKERS if each != leader)
        missing = cluster.where(node_id)
        await cluster.create_single(node_id, "t1", "t2")
        await cluster.stop(node_id)
        cluster.path(node_id, missing).rename(cluster.path(node_id, "elsewhere"))
        await cluster.start(node_id)
        assert (await cluster.described(node_id))[missing] == (ErrorCode.KAFKA_STORAGE_ERROR, 0)
        assert not cluster.path(node_id, missing).exists()
        await cluster.produce("b")
        assert node_id not in cluster.partition.isr
        await cluster.stop(node_id)
        cluster.path(node_id, "elsewhere").rename(cluster.path(node_id, missing))
        await cluster.start(node_id)
        await cluster.until_all_are_in_sync()
        await cluster.until(lambda: cluster.leads(node_id, "t1") and cluster.leads(node_id, "t2"))
        assert await cluster.values() == ["a", "b"]

    scene(scenario)


def test_a_directory_that_vanishes_while_nobody_uses_it_is_noticed(scene: Any) -> None:
    async def scenario(cluster: Directories) -> None:
        leader = cluster.partition.leader
        gone = cluster.where(leader)
        await cluster.until(lambda: cluster.told(leader) == cluster.id_of(leader, gone))
        cluster.path(leader, gone).rename(cluster.path(leader, "elsewhere"))
        await cluster.until(lambda: cluster.partition.leader not in (leader, -1))
        assert (await cluster.described(leader))[gone][0] == ErrorCode.KAFKA_STORAGE_ERROR

    scene(scenario)


def test_the_last_directory_is_not_given_up(scene: Any) -> None:
    async def scenario(cluster: Directories) -> None:
        leader = cluster.partition.leader
        await cluster.create_single(leader, "t1", "t2")
        await cluster.produce("a")
        breakable = cluster.breakable[leader]
        breakable.broken = cluster.path(leader)
        await cluster.produce("b")
        assert cluster.partition.leader != leader
        described = await cluster.described(leader)
        assert sorted(code for code, _ in described.values()) == [0, ErrorCode.KAFKA_STORAGE_ERROR]
        await cluster.stop(leader)
        breakable.broken = None
        await cluster.start(leader)
        await cluster.until_all_are_in_sync()

    scene(scenario)


def test_what_was_in_a_failed_directory_is_made_again_in_another_one(scene: Any) -> None:
    async def scenario(cluster: Directories) -> None:
        await cluster.replace_after(15_000)
        leader = cluster.partition.leader
        await cluster.create_single(leader, "t1", "t2")
        await cluster.produce("a", "b")
        broken = cluster.where(leader)
        (single,) = (topic for topic in ("t1", "t2") if cluster.where(leader, topic) == broken)
        await cluster.until(lambda: cluster.told(leader) == cluster.id_of(leader, broken))
        cluster.breakable[leader].broken = cluster.path(leader, broken)
        await cluster.produce("c")
        await asyncio.sleep(10)
        assert leader not in cluster.partition.isr, "it may come back yet"
        await cluster.until_all_are_in_sync()
        assert cluster.where(leader) == cluster.other(broken)
        assert cluster.image(leader).partition(single, 0).leader == -1, "nobody else has what it had"
        await cluster.stop(leader)
        cluster.breakable[leader].broken = None
        await cluster.produce("d")
        await cluster.start(leader)
        await cluster.until_all_are_in_sync()
        assert cluster.where(leader) == cluster.other(broken)
        old = [each.name for each in cluster.path(leader, broken).iterdir() if each.name.startswith("orders-0")]
        assert len(old) == 1
        assert old[0].endswith("-stray"), "what came back too late is kept, and not used"
        await cluster.until(lambda: cluster.leads(leader, single))
        assert await cluster.values() == ["a", "b", "c", "d"]

    scene(scenario)


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_a_restart_does_not_keep_it_from_being_made_again(scene: Any, ends: str) -> None:
    """The directory cannot be opened at the start, and is waited for as before."""

    async def scenario(cluster: Directories) -> None:
        await cluster.replace_after(30_000)
        node_id = next(each for each in BROKERS if each != cluster.partition.leader)
        await cluster.produce("a")
        broken = cluster.where(node_id)
        await cluster.until(lambda: cluster.told(node_id) == cluster.id_of(node_id, broken))
        cluster.breakable[node_id].broken = cluster.path(node_id, broken)
        await cluster.produce("b")
        await cluster.until(lambda: node_id not in cluster.partition.isr)
        await asyncio.sleep(15)
        await getattr(cluster, ends)(node_id)
        await cluster.start(node_id)
        await asyncio.sleep(10)
        assert node_id not in cluster.partition.isr
        await cluster.until_all_are_in_sync()
        assert cluster.where(node_id) == cluster.other(broken)

    scene(scenario)


def test_it_is_not_made_again_where_there_is_no_room(scene: Any) -> None:
    async def scenario(cluster: Directories) -> None:
        await cluster.replace_after(15_000)
        node_id = next(each for each in BROKERS if each != cluster.partition.leader)
        await cluster.produce(*("x" * 200_000 for _ in range(5)))
        broken = cluster.where(node_id)
        await cluster.until(lambda: cluster.told(node_id) == cluster.id_of(node_id, broken))
        breakable = cluster.breakable[node_id]
        breakable.usable_bytes = (1 << 30) // 10 + 900_000
        breakable.broken = cluster.path(node_id, broken)
        await asyncio.sleep(60)
        assert node_id not in cluster.partition.isr
        breakable.usable_bytes += 200_000
        await cluster.until_all_are_in_sync()
        assert cluster.where(node_id) == cluster.other(broken)

    scene(scenario)
