"""Brokers with two data directories each: nothing acknowledged is lost whatever happens to one of them after the other."""

import asyncio
import random
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from replicated_brokers import BROKERS
from two_directories import Directories, on_two_directories

from millstream_wire.messages import (
    AlterReplicaLogDirsRequest,
)
from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic
from millstream_wire.records import decode_batches


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


@pytest.fixture
def scene(tmp_path: Path) -> Callable[[Callable[[Directories], Awaitable[None]]], None]:
    return partial(on_two_directories, tmp_path)


@pytest.mark.parametrize("seed", range(1, 5))
def test_nothing_is_lost_whatever_happens_to_one_broker_at_a_time(scene: Any, seed: int) -> None:
    scene(lambda cluster: Course(cluster, seed).run(12))
