"""Many Topics of a cluster that does not answer, in virtual time."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from millstream_operator.kafka.cluster import ClusterUnreachable, KafkaCluster
from millstream_operator.reconcile.topic_glance import GLANCE_AGAIN_MS, TopicGlances
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld

MANY = 1_000


def in_virtual_time(scenario: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario)


def cluster(name: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "n", "name": name, "uid": name}}


class Operator:
    """Beside a cluster on host `silent`, which swallows what it is sent, and one on `refusing`, where nobody listens."""

    def __init__(self) -> None:
        network = SimulatedNetwork(random.Random(1), Conditions())
        network.cut("operator", "silent")
        self.world = SimulatedWorld(network, "operator", random.Random(2))
        self._nodes = Nodes(self.world, client_id="operator")
        self._kafka = {host: KafkaCluster(self._nodes, (host, 9092)) for host in ("silent", "refusing")}
        self._glances = TopicGlances(self.world)

    async def looks(self, host: str) -> int:
        """How long it took to know nothing."""
        began_ms = self.world.monotonic_ms()
        with pytest.raises(ClusterUnreachable):
            await self._glances.at(self._kafka[host], cluster(host), [])
        return self.world.monotonic_ms() - began_ms

    async def close(self) -> None:
        await self._nodes.close()


def test_that_nobody_answers_is_found_out_once_for_all_topics_of_a_cluster() -> None:
    async def scenario() -> None:
        operator = Operator()
        alone_ms = await operator.looks("silent")
        assert alone_ms > 1_000
        assert await operator.looks("silent") == 0
        await asyncio.sleep(GLANCE_AGAIN_MS / 1000)
        took_ms = await asyncio.gather(*(operator.looks("silent") for _ in range(MANY)))
        assert max(took_ms) < 2 * alone_ms
        await operator.close()

    in_virtual_time(scenario())


def test_a_silent_cluster_keeps_no_other_one_waiting() -> None:
    async def scenario() -> None:
        operator = Operator()
        waiting = asyncio.create_task(operator.looks("silent"))
        await asyncio.sleep(0)
        assert await operator.looks("refusing") < 1_000
        assert not waiting.done()
        await waiting
        await operator.close()

    in_virtual_time(scenario())
