"""Where trouble happens: the hosts of a run, the network between them, and who is down already."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from millstream.roles import Role
from millstream_cluster.image import Image
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_simulation.host import Host
from millstream_simulation.metadata_stores import MetadataStore
from millstream_simulation.story import Story

DOWN_MAX = 2
"""Hosts that may be down at once; of controllers only one, or nothing is decided at all."""

ENDS = {Host.kill: "process killed", Host.stop: "process stopped"}


@dataclass(slots=True)
class Scene:
    hosts: Sequence[Host]
    others: Sequence[str]
    """Hosts of clients: they are only cut off, never killed."""
    network: SimulatedNetwork
    random: random.Random
    story: Story
    calm: Conditions
    """What the network is like when nothing is wrong with it."""
    store: MetadataStore
    image: Callable[[], Image]
    """What is committed of the metadata by now."""
    down: set[str] = field(default_factory=set)
    """Names of hosts that are down, or about to be."""
    lost: dict[int, int] = field(default_factory=dict)
    """Brokers that have lost what they had, and the broker epoch in which they did."""

    async def take_down(self, end: Callable[[Host], Awaitable[None]], seconds: float, host: Host | None = None) -> None:
        """Let one host end in this way and start it again later; nobody's turn if too many are down."""
        host = host or self.random.choice(self.hosts)
        controllers_down = any(each.role is Role.CONTROLLER and each.name in self.down for each in self.hosts)
        if host.name in self.down or len(self.down) >= DOWN_MAX or (host.role is Role.CONTROLLER and controllers_down):
            return
        self.down.add(host.name)
        await self._a_bad_moment(host)
        if end in ENDS:
            self.story.note(ENDS[end])
        await end(host)
        await asyncio.sleep(seconds)
        host.start()
        self.down.discard(host.name)

    async def _a_bad_moment(self, host: Host) -> None:
        """When it has just said something, as often as not."""
        if self.random.random() < 0.5:
            try:
                async with asyncio.timeout(3.0):
                    await self.network.frame_from(host.name)
            except TimeoutError:
                return
