"""Brokers with two data directories each, of which one fails: what is in it goes to others, and the broker goes on."""

import asyncio
import errno
import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from controller_machines import run
from replicated_brokers import BROKERS, Cluster

from millstream_log.disk import Disk
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AlterReplicaLogDirsRequest,
    CreateTopicsRequest,
    DescribeLogDirsRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)
from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic
from millstream_wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from millstream_wire.records import decode_batches

SET = 0
BROKER = 4


class Breakable(Disk):
    """Everything below one directory answers EIO once it is broken."""

    def __init__(self) -> None:
        self.broken: Path | None = None
        self.usable_bytes = 1 << 30
        self._paths: dict[int, Path] = {}

    def _refuse(self, path: Path | None) -> None:
        if self.broken is not None and path is not None and path.is_relative_to(self.broken):
            raise OSError(errno.EIO, "Input/output error")

    def open(self, path: Path, flags: int) -> int:
        self._refuse(path)
        fd = super().open(path, flags)
        self._paths[fd] = path
        return fd

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        self._refuse(self._paths.get(fd))
        return super().pwrite(fd, data, position)

    def mkdir(self, path: Path) -> None:
        self._refuse(path)
        super().mkdir(path)

    def space(self, path: Path) -> tuple[int, int]:
        return 1 << 30, self.usable_bytes


class Directories(Cluster):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory, log_dirs=("a", "b"))
        self.breakable = {node_id: Breakable() for node_id in BROKERS}
        self.disks.update(self.breakable)

    def where(self, node_id: int, topic: str = "orders", index: int = 0) -> str:
        """In which directory the broker has the partition."""
        replica = self.apps[node_id].partitions.find(topic, index)  # type: ignore[union-attr]
        assert replica is not None
        return replica.directory.path.name

    def other(self, log_dir: str) -> str:
        return "b" if log_dir == "a" else "a"

    def told(self, node_id: int) -> UUID:
        """Where the metadata says that it is."""
        return self.partition.directory_of(node_id)

    def id_of(self, node_id: int, log_dir: str) -> UUID:
        directories = self.apps[node_id].partitions.directories.online  # type: ignore[union-attr]
        return next(each.directory_id for each in directories if each.path.name == log_dir)

    async def described(self, node_id: int) -> dict[str, tuple[int, int]]:
        """Error code and number of partitions of each directory."""
        answer = await self.ask(node_id, DescribeLogDirsRequest(topics=None), 5)
        return {
            Path(each.log_dir).name: (each.error_code, sum(len(topic.partitions) for topic in each.topics))
            for each in answer.results
        }

    async def create_single(self, node_id: int, *topics: str) -> None:
        """Topics with one replica, on this broker."""
        wanted = [
            CreatableTopic(
                name=topic,
                num_partitions=-1,
                replication_factor=-1,
                assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[node_id])],
            )
            for topic in topics
        ]
        answer = await self.ask(node_id, CreateTopicsRequest(topics=wanted), 5)
        assert all(topic.error_code == 0 for topic in answer.topics), answer
        await self.until(lambda: all(self.leads(node_id, topic) for topic in topics))

    async def replace_after(self, ms: int) -> None:
        """Have the controller wait only so long for what is away."""
        config = AlterableConfig(name="broker.replacement.timeout.ms", config_operation=SET, value=str(ms))
        resource = AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[config])
        answer = await self.ask(1, IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert answer.responses[0].error_code == 0, answer

    def leads(self, node_id: int, topic: str) -> bool:
        replica = self.apps[node_id].partitions.find(topic, 0)  # type: ignore[union-attr]
        return replica is not None and replica.partition.leads

    def image(self, node_id: int) -> Any:
        follower = self.apps[node_id].follower
        assert follower is not None
        return follower.image


@pytest.fixture
def scene(tmp_path: Path) -> Callable[[Callable[[Directories], Awaitable[None]]], None]:
    def whole(scenario: Callable[[Directories], Awaitable[None]]) -> None:
        async def all_of_it() -> None:
            cluster = Directories(tmp_path)
            await cluster.begin()
            await cluster.until(lambda: all(map(cluster.where, BROKERS)))
            await scenario(cluster)

        run(all_of_it())

    return whole


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


class Course:
    """Troubles of one broker after the other, as a seed draws them, while records are produced; nothing acknowledged may be lost."""

    def __init__(self, cluster: Directories, seed: int) -> None:
        self.cluster = cluster
        self.draw = random.Random(seed)
        self.number = 0

    async def run(self, steps: int) -> None:
        await self.cluster.replace_after(15_000)
        troubles = (self.fail, self.fail_for_long, self.replace, self.move, self.move, self.move_and_die, self.die)
        for _ in range(steps):
            node_id = self.draw.choice(BROKERS)
            await self.produce()
            await self.draw.choice(troubles)(node_id)
            await self.produce()
            await self.cluster.until_all_are_in_sync()
            self.cluster.image(node_id).check()
        await self.cluster.until(lambda: all(self.has_all(node_id) for node_id in BROKERS))

    def has_all(self, node_id: int) -> bool:
        """Every replica; what was produced again after no answer may be there twice."""
        replica = self.cluster.apps[node_id].partitions.find("orders", 0)  # type: ignore[union-attr]
        assert replica is not None
        replica.check()
        found, offset = [], 0
        while (read := replica.log.read(offset, 1 << 20)) is not None:
            found += [(record.value or b"").decode() for record in decode_batches(read.slice.read())]
            offset = read.next_offset
        return list(dict.fromkeys(found)) == self.cluster.produced

    async def produce(self) -> None:
        for _ in range(self.draw.randint(0, 3)):
            self.number += 1
            await self.cluster.produce(f"{self.number}:" + "x" * self.draw.choice([1, 5_000, 200_000]))

    async def end(self, node_id: int) -> None:
        await self.draw.choice([self.cluster.stop, self.cluster.kill])(node_id)

    async def fail(self, node_id: int) -> None:
        """A directory, which need not be the one that matters, and which is well at the start after the next, or the one after that."""
        breakable = self.cluster.breakable[node_id]
        breakable.broken = self.cluster.path(node_id, self.draw.choice("ab"))
        await self.produce()
        if self.draw.random() < 0.5:
            await self.end(node_id)
            await self.cluster.start(node_id)
            await self.produce()
        await self.end(node_id)
        breakable.broken = None
        await self.produce()
        await self.cluster.start(node_id)

    async def fail_for_long(self, node_id: int) -> None:
        """So long that what is in it may be made again meanwhile, be that under way or complete when the directory comes back."""
        breakable = self.cluster.breakable[node_id]
        breakable.broken = self.cluster.path(node_id, self.cluster.where(node_id))
        await self.produce()
        await asyncio.sleep(self.draw.uniform(13, 18))
        await self.produce()
        await self.end(node_id)
        breakable.broken = None
        await self.produce()
        await self.cluster.start(node_id)

    async def replace(self, node_id: int) -> None:
        await self.end(node_id)
        path = self.cluster.path(node_id, self.draw.choice("ab"))
        shutil.rmtree(path)
        path.mkdir()
        await self.produce()
        await self.cluster.start(node_id)

    async def move(self, node_id: int) -> None:
        target = self.cluster.other(self.cluster.where(node_id))
        await self.begin(node_id, target)
        await self.produce()
        await self.cluster.until(lambda: self.cluster.where(node_id) == target)

    async def move_and_die(self, node_id: int) -> None:
        await self.begin(node_id, self.cluster.other(self.cluster.where(node_id)))
        await asyncio.sleep(self.draw.choice([0, 0.001, 0.01, 0.1]))
        await self.end(node_id)
        await self.produce()
        await self.cluster.start(node_id)

    async def die(self, node_id: int) -> None:
        await self.end(node_id)
        await self.produce()
        await self.cluster.start(node_id)

    async def begin(self, node_id: int, target: str) -> None:
        path = str(self.cluster.path(node_id, target).absolute())
        topics = [AlterReplicaLogDirTopic(name="orders", partitions=[0])]
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
        answer = await self.cluster.ask(node_id, request, 2)
        assert answer.results[0].partitions[0].error_code == 0


@pytest.mark.parametrize("seed", range(1, 5))
def test_nothing_is_lost_whatever_happens_to_one_broker_at_a_time(scene: Any, seed: int) -> None:
    scene(lambda cluster: Course(cluster, seed).run(12))
