"""Brokers with two data directories each, of which one may fail."""

import errno
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from controller_machines import run
from replicated_brokers import BROKERS, Cluster

from millstream_log.disk import Disk
from millstream_wire.messages import (
    CreateTopicsRequest,
    DescribeLogDirsRequest,
    IncrementalAlterConfigsRequest,
)
from millstream_wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource

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


def on_two_directories(directory: Path, scenario: Callable[[Directories], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        cluster = Directories(directory)
        await cluster.begin()
        await cluster.until(lambda: all(map(cluster.where, BROKERS)))
        await scenario(cluster)

    run(all_of_it())
