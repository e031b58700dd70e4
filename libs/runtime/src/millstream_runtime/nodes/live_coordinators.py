"""Finds coordinators that are there: an answer that names one whose process has just died, or nobody yet, waits for a better one.

Clients lose the connection to a coordinator in the moment in which it dies, and ask at once who it is. Who is told the dead one's name tries
to reach it and asks again a second later (librdkafka); who is told that there is none asks after a tenth to half of one.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from millstream_cluster.ids import NodeId, Role
from millstream_cluster.image import Image
from millstream_runtime.nodes.closed_ports import refuses
from millstream_runtime.nodes.interest import Interest, NoLonger
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FindCoordinatorResponse

HELD_S = 0.5
"""A shard has a new owner in a tenth of it, where the kernel told that the one before has died."""
PROBE_TIMEOUT_S = 0.1
BELIEVED_S = 0.05
"""So long nobody looks again whether one is there that was."""


class LiveCoordinators:
    """Invariant: a node is probed once at a time, and at most 20 times a second while it is there, however many ask for it."""

    def __init__(self, world: World, image: Callable[[], Image], interest: Interest) -> None:
        """`interest` is told of each change of the metadata."""
        self._world = world
        self._image = image
        self._interest = interest
        self._probes: dict[NodeId, asyncio.Task[bool]] = {}

    async def find(self, answer: Callable[[], FindCoordinatorResponse]) -> FindCoordinatorResponse:
        """The answer by the metadata of now, or of up to half a second later if that is a better one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HELD_S):
                while True:
                    found = answer()
                    if not self._is_about_to_change(found) and not await self._names_the_dead(found):
                        return found
                    await self._until_the_metadata_moves()
        return answer()

    def _is_about_to_change(self, answer: FindCoordinatorResponse) -> bool:
        """Whether somebody has no coordinator although there are some."""
        codes = [answer.error_code, *(each.error_code for each in answer.coordinators)]
        nodes = self._image().nodes.values()
        return ErrorCode.COORDINATOR_NOT_AVAILABLE in codes and any(
            node.role is Role.COORDINATOR and not node.fenced for node in nodes
        )

    async def _names_the_dead(self, answer: FindCoordinatorResponse) -> bool:
        for node_id in {answer.node_id, *(each.node_id for each in answer.coordinators)}:
            if await self._is_dead(NodeId(node_id)):
                return True
        return False

    async def _is_dead(self, node_id: NodeId) -> bool:
        node = self._image().node(node_id)
        if node is None or (node.listeners[0].host, node.listeners[0].port) in self._world.own_addresses:
            return False
        probe = self._probes.get(node_id)
        if probe is None:
            probing = refuses(node, self._world, timeout_s=PROBE_TIMEOUT_S)
            probe = self._probes[node_id] = asyncio.get_running_loop().create_task(probing)
            probe.add_done_callback(lambda done: self._on_probed(node_id, done))
        return await asyncio.shield(probe)

    def _on_probed(self, node_id: NodeId, probe: asyncio.Task[bool]) -> None:
        if probe.cancelled() or probe.exception() is not None or probe.result():
            del self._probes[node_id]
        else:
            asyncio.get_running_loop().call_later(BELIEVED_S, self._probes.pop, node_id)

    async def _until_the_metadata_moves(self) -> None:
        offset = self._image().offset
        with suppress(NoLonger):
            async with self._interest.only_while(lambda: self._image().offset == offset):
                await asyncio.sleep(HELD_S)
