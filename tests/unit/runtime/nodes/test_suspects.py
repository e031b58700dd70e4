"""Clients that ask who leads, a moment after a broker's connection broke."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, NodeId
from millstream_cluster.image import Image
from millstream_runtime.nodes.interest import Interest
from millstream_runtime.nodes.suspects import HELD_MS, Suspects
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld

LOST = NodeId(2)


def in_virtual_time(scenario: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario)


def image_of(*, fenced: bool) -> Image:
    registered = r.NodeRegistered(LOST, BrokerEpoch(1), UUID(int=1), (r.Endpoint("PLAINTEXT", "b2", 9092),), None)
    return Image.of([registered] if fenced else [registered, r.NodeUnfenced(LOST, BrokerEpoch(1))], 3)


def test_clients_wait_until_the_lost_broker_is_fenced() -> None:
    async def scenario() -> None:
        world = SimulatedWorld(SimulatedNetwork(random.Random(1), Conditions()), "b1", random.Random(2))
        image, interest = image_of(fenced=False), Interest()
        suspects = Suspects(world, lambda: image, interest)
        assert not suspects
        suspects.lost(LOST)
        assert suspects
        waiting = asyncio.create_task(suspects.settle())
        await asyncio.sleep(HELD_MS / 5 / 1000)
        assert not waiting.done()
        image = image_of(fenced=True)
        interest.on_change()
        async with asyncio.timeout(HELD_MS / 10 / 1000):
            await waiting
        assert not suspects

    in_virtual_time(scenario())


def test_a_broker_that_only_closed_a_connection_holds_nobody_for_long() -> None:
    async def scenario() -> None:
        world = SimulatedWorld(SimulatedNetwork(random.Random(1), Conditions()), "b1", random.Random(2))
        suspects = Suspects(world, lambda: image_of(fenced=False), Interest())
        suspects.lost(LOST)
        began_ms = world.monotonic_ms()
        await suspects.settle()
        assert HELD_MS <= world.monotonic_ms() - began_ms < 2 * HELD_MS
        assert not suspects

    in_virtual_time(scenario())
