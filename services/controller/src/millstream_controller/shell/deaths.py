"""Finds out at once that a node has died, where the kernel of its host tells: its connection closed, and nobody listens at its port.

A session's time-out is for nodes of which nothing is heard. A node that is taken for dead and lives is only fenced, which is
safe, and let in again with its next heartbeat.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from millstream_cluster.ids import BrokerEpoch
from millstream_cluster.image import Image
from millstream_cluster.members import Node
from millstream_runtime.nodes.closed_ports import refuses
from millstream_runtime.serving.context import Connection
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

PROBES_AFTER_S = (0.0, 0.05, 0.2, 0.5)
"""A process that dies closes one socket after the other."""
ONE_PROBE = (0.0,)
PROBE_TIMEOUT_S = 1.0
_WATCHED = "a node's heartbeats come here"


class Deaths:
    """Invariant: a node is probed only while no connection is open that brought its heartbeats, one probe at a time.

    Whoever dies together with the active controller closes no connection to the next one: so each node is probed once at the takeover.
    """

    def __init__(self, world: World, image: Callable[[], Image], died: Callable[[Node], None]) -> None:
        """`died` is told of a node at whose port nobody listens."""
        self._world = world
        self._image = image
        self._died = died
        self._heard_by: dict[int, int] = {}
        """The number of the connection that brought each node's last heartbeat."""
        self._closed: dict[int, BrokerEpoch] = {}
        """Whom to look after, in the epoch that the connection was about."""
        self._wake = asyncio.Event()

    def heard(self, node_id: int, epoch: int, connection: Connection) -> None:
        """A heartbeat of the node's present epoch came over this connection."""
        self._heard_by[node_id] = connection.number
        if connection.state.get(_WATCHED) == (self, node_id, epoch):
            return
        connection.state[_WATCHED] = self, node_id, epoch
        connection.at_close.append(lambda: self._on_closed(node_id, BrokerEpoch(epoch), connection.number))

    def _on_closed(self, node_id: int, epoch: BrokerEpoch, number: int) -> None:
        if self._heard_by.get(node_id) == number:
            del self._heard_by[node_id]
            self._closed[node_id] = epoch
            self._wake.set()

    async def run(self) -> None:
        probing: dict[int, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as tasks:
            for node in self._image().nodes.values():
                if not node.fenced:
                    probing[node.node_id] = tasks.create_task(self._look_after(node.node_id, node.epoch, ONE_PROBE))
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._closed:
                    node_id, epoch = self._closed.popitem()
                    if node_id in probing and not probing[node_id].done():
                        probing[node_id].cancel()
                    probing[node_id] = tasks.create_task(self._look_after(node_id, epoch, PROBES_AFTER_S))
                    probing = {each: task for each, task in probing.items() if not task.done()}

    async def _look_after(self, node_id: int, epoch: BrokerEpoch, pauses_s: Sequence[float]) -> None:
        for pause_s in pauses_s:
            await asyncio.sleep(pause_s)
            node = self._image().node(node_id)
            if node is None or node.epoch != epoch or node.fenced or node_id in self._heard_by:
                return
            if await refuses(node, self._world, timeout_s=PROBE_TIMEOUT_S):
                logger.warning("node died node=%d epoch=%d reason=nobody_listens_at_its_port", node_id, epoch)
                self._died(node)
                return
