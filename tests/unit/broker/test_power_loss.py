"""Power that goes at all three brokers at the same moment, at its worst: nothing is left that was not flushed.

What each setting keeps then is a sentence of docs/operations.md, "What is promised when machines fail".
"""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from controller_machines import run
from replicated_brokers import BROKERS, Cluster

from millstream_simulation.disks.sim_disk import SimDisk
from millstream_wire.messages import IncrementalAlterConfigsRequest
from millstream_wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource

TOPIC, SET = 2, 0
FLUSH_MS = 10_000
FLUSH_LOOK_S = 2
"""It is looked once a second for what has to be flushed."""


class Worst(random.Random):
    """Of what may be lost, all is."""

    def random(self) -> float:
        return 0.0

    def choice(self, seq: Sequence[Any]) -> Any:
        return seq[0]

    def randint(self, a: int, b: int) -> int:
        return a


class Machines(Cluster):
    """Each broker's disk shows what its page cache has until its power goes."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.sim_disks = {}
        for node_id in BROKERS:
            self.path(node_id).mkdir(parents=True)
            self.sim_disks[node_id] = SimDisk(self.path(node_id), Worst())
        self.disks.update(self.sim_disks)

    async def set(self, **configs: str) -> None:
        """Of the topic, and wait until all brokers know it."""
        wanted = {name.replace("_", "."): value for name, value in configs.items()}
        alter = [AlterableConfig(name=name, config_operation=SET, value=value) for name, value in wanted.items()]
        resource = AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=alter)
        answer = await self.ask(1, IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert answer.responses[0].error_code == 0, answer
        await asyncio.sleep(1)

    async def black_out(self) -> None:
        await asyncio.sleep(1)  # the followers have heard what is committed
        for node_id in BROKERS:
            await self.kill(node_id)
        for node_id in BROKERS:
            self.sim_disks[node_id].lose_power()
        for node_id in BROKERS:
            await self.start(node_id)
        await self.until_all_are_in_sync()


def test_what_only_page_caches_had_is_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster = Machines(tmp_path)
        await cluster.begin()
        await cluster.produce("a", "b")
        assert len(cluster.partition.isr) == 3
        await cluster.black_out()
        assert await cluster.values() == []

    run(scenario())


@pytest.mark.parametrize("setting", [{"flush_messages": "1"}, {"millstream_visible_after_flush": "true"}], ids=str)
def test_what_is_flushed_before_it_is_acknowledged_is_there(tmp_path: Path, setting: dict[str, str]) -> None:
    async def scenario() -> None:
        cluster = Machines(tmp_path)
        await cluster.begin()
        await cluster.set(**setting)
        for value in "abc":
            await cluster.produce(value)
            await cluster.black_out()
        assert await cluster.values() == ["a", "b", "c"]

    run(scenario())


def test_with_flush_ms_what_is_younger_than_that_may_be_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster = Machines(tmp_path)
        await cluster.begin()
        await cluster.set(flush_ms=str(FLUSH_MS))
        await cluster.produce("a", "b")
        await asyncio.sleep(FLUSH_MS / 1000 + FLUSH_LOOK_S)
        await cluster.produce("c")
        await cluster.black_out()
        assert await cluster.values() == ["a", "b"]

    run(scenario())
