"""What the clients of a run share: the network they are on, the cluster they know, the story, and how long peace may take."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from millstream_runtime.simulated.network import SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.story import Story, Violation

SETTLE_S = 120.0
"""Within so much time of peace everything that is promised for some time has to be there."""
PAUSE_S = 0.2

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Stage:
    seed: int
    network: SimulatedNetwork
    brokers: Sequence[tuple[str, int]]
    story: Story
    topic_configs: Mapping[str, str] = field(default_factory=dict)
    """Of all topics that clients make."""

    def random(self, name: str) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    def world(self, name: str) -> SimulatedWorld:
        return SimulatedWorld(self.network, name, self.random(name))

    def client(self, name: str, topic: str) -> KafkaClient:
        return KafkaClient(self.world(name), self.brokers, name, topic, self.topic_configs)


async def until_done(attempt: Callable[P, Awaitable[T]], *arguments: P.args, **options: P.kwargs) -> T:
    while True:
        try:
            return await attempt(*arguments, **options)
        except NotNow:
            await asyncio.sleep(PAUSE_S)


async def in_time(tasks: "Sequence[asyncio.Task[Any]]", complaint: str) -> None:
    """Wait for what peace has to bring about."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=SETTLE_S)
    if late:
        raise Violation(f"{complaint} within {SETTLE_S:.0f} s of peace")


def names(kind: str, count: int) -> list[str]:
    return [f"{kind}-{number}" for number in range(1, count + 1)]
