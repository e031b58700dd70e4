"""Brokers whose connection broke a moment ago: who leads what they led is about to change, and clients that ask wait for that.

Clients lose their connections in the same moment, ask for the metadata at once, and wait a second or longer before they ask
again. An answer from before the election costs them that second; an answer that comes a few milliseconds later does not.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from millstream_cluster.image import Image
from millstream_runtime.nodes.interest import Interest, NoLonger
from millstream_runtime.world import World

HELD_MS: Final = 250
"""An election after a death that the kernel told takes a tenth of it. A broker that only closed a connection holds nobody for longer."""


class Suspects:
    def __init__(self, world: World, image: Callable[[], Image], interest: Interest) -> None:
        """`interest` is told of each change of the metadata."""
        self._world = world
        self._image = image
        self._interest = interest
        self._until_ms: dict[int, int] = {}

    def __bool__(self) -> bool:
        """Whether the metadata may be about to change. Costs nothing while nobody is suspected."""
        return bool(self._until_ms) and self._are_left()

    def lost(self, node_id: int) -> None:
        """The connection to this broker was closed by it, or by its host for it."""
        self._until_ms[node_id] = self._world.monotonic_ms() + HELD_MS

    async def settle(self) -> None:
        """Return when all of them are fenced, or were suspected for long enough."""
        try:
            async with self._interest.only_while(self._are_left):
                await asyncio.sleep(HELD_MS / 1000)
        except NoLonger:
            return

    def _are_left(self) -> bool:
        now_ms, image = self._world.monotonic_ms(), self._image()
        for node_id, until_ms in list(self._until_ms.items()):
            node = image.node(node_id)
            if now_ms >= until_ms or node is None or node.fenced:
                del self._until_ms[node_id]
        return bool(self._until_ms)
