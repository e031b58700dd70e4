"""What goes wrong in a simulation, and when: processes killed or stopped, hosts cut off, a network at its worst.

Everything that breaks is mended again, so that what must hold in the end can be asked for.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from millstream.roles import Role
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_simulation.host import Host
from millstream_simulation.story import Story

DOWN_MAX = 2
"""Hosts that may be down at once; of controllers only one, or nothing is decided at all."""


class Trouble:
    def __init__(
        self, hosts: Sequence[Host], others: Sequence[str], network: SimulatedNetwork, rng: random.Random, story: Story
    ) -> None:
        """`others`: hosts that are only cut off, never killed."""
        self._hosts = hosts
        self._others = others
        self._network = network
        self._random = rng
        self._story = story
        self._down: set[str] = set()
        self._calm: Conditions = network.conditions

    async def run(self, duration_s: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + duration_s
        choices: list[Callable[[], Awaitable[None]]] = [
            self._kill,
            self._kill,
            self._stop,
            self._cut,
            self._isolate,
            self._isolate,
            self._pause,
            self._storm,
        ]
        async with asyncio.TaskGroup() as tasks:
            while loop.time() < end:
                await asyncio.sleep(self._random.uniform(0.5, 6.0))
                tasks.create_task(self._one(self._random.choice(choices)))
        self._network.heal()
        self._network.conditions = self._calm
        self._story.add("trouble over")

    async def _one(self, what: Callable[[], Awaitable[None]]) -> None:
        await what()

    async def _kill(self) -> None:
        await self._down_for(self._random.uniform(0.1, 12.0), Host.kill)

    async def _stop(self) -> None:
        await self._down_for(self._random.uniform(0.1, 5.0), Host.stop)

    async def _down_for(self, seconds: float, end: Callable[[Host], Awaitable[None]]) -> None:
        host = self._random.choice(self._hosts)
        controllers_down = any(each.role is Role.CONTROLLER and each.name in self._down for each in self._hosts)
        if (
            host.name in self._down
            or len(self._down) >= DOWN_MAX
            or (host.role is Role.CONTROLLER and controllers_down)
        ):
            return
        self._down.add(host.name)
        await self._a_bad_moment(host)
        await end(host)
        await asyncio.sleep(seconds)
        host.start()
        self._down.discard(host.name)

    async def _a_bad_moment(self, host: Host) -> None:
        """When it has just said something, as often as not."""
        if self._random.random() < 0.5:
            try:
                async with asyncio.timeout(3.0):
                    await self._network.frame_from(host.name)
            except TimeoutError:
                return

    async def _isolate(self) -> None:
        """One host loses all its peers while clients still reach it: it has to find out that it was replaced."""
        host = self._random.choice(self._hosts)
        peers = [each.name for each in self._hosts if each is not host]
        self._story.add("isolated", process=host.name)
        for peer in peers:
            self._network.cut(host.name, peer)
        await asyncio.sleep(self._random.uniform(2.0, 9.0))
        for peer in peers:
            self._network.mend(host.name, peer)
        self._story.add("rejoined", process=host.name)

    async def _pause(self) -> None:
        host = self._random.choice(self._hosts)
        if host.up and host.name not in self._down:
            host.pause(self._random.uniform(1.0, 9.0))

    async def _cut(self) -> None:
        names = [*(host.name for host in self._hosts), *self._others]
        one, other = self._random.sample(names, 2)
        self._story.add("cut", one=one, other=other)
        self._network.cut(one, other)
        await asyncio.sleep(self._random.uniform(0.5, 10.0))
        self._network.mend(one, other)
        self._story.add("mended", one=one, other=other)

    async def _storm(self) -> None:
        """For a while connections break and frames crawl."""
        self._story.add("storm")
        self._network.conditions = replace(self._calm, break_probability=0.02, slow_probability=0.2)
        await asyncio.sleep(self._random.uniform(0.5, 6.0))
        self._network.conditions = self._calm
        self._story.add("storm over")
