"""After a run: every process has stopped in peace, and one broker comes back with an empty disk.

The promise: it is let in, and what others hold is led as before. What only its old disk held stays without a leader; of what others
hold too it gets a copy, and is in sync again.
"""

import asyncio
import random
from collections.abc import Sequence

from millstream.roles import Role
from millstream_broker.app import BrokerApp
from millstream_cluster.ids import NO_NODE
from millstream_simulation.host import Host
from millstream_simulation.stage import SETTLE_S
from millstream_simulation.story import Story, Violation

LOOK_S = 0.5
PEACE_S = 5.0
"""So long it stays as it is, once it is so."""


class EmptiedDisk:
    def __init__(self, hosts: Sequence[Host], draw: random.Random, story: Story, *, replicated: bool) -> None:
        self._replicated = replicated
        self._hosts = hosts
        self._random = draw
        self._story = story

    async def judge(self) -> None:
        """All processes have stopped in peace; they run when this returns."""
        brokers = [host for host in self._hosts if host.role is Role.BROKER]
        # Of several replicas the last that stopped may be the only one that has everything.
        broker = brokers[0] if self._replicated else self._random.choice(brokers)
        broker.lose_disk()
        for host in self._hosts:
            host.start()
        try:
            async with asyncio.timeout(SETTLE_S):
                while True:
                    wrong = self._wrong(broker)
                    if wrong is None:
                        break
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise Violation(f"{broker.name} came back with an empty disk: {wrong}") from None
        await asyncio.sleep(PEACE_S)
        if (wrong := self._wrong(broker)) is not None:
            raise Violation(f"{broker.name} came back with an empty disk, and after a while {wrong}")
        self._story.add("empty disk checked", process=broker.name, lost=len(broker.lost))

    def _wrong(self, broker: Host) -> str | None:
        """By what the broker itself knows of the metadata."""
        service = broker.service
        assert isinstance(service, BrokerApp)
        if service.follower is None:
            return "it knows no metadata"
        image, node_id = service.follower.image, service.config.node_id
        node = image.node(node_id)
        if node is None or node.fenced:
            return "it is not let in"
        lost = {key for host in self._hosts for key in host.lost}
        for partition in image.partitions():
            if len(partition.replicas) > 1:
                if partition.leader == NO_NODE:
                    return f"{partition.topic}-{partition.partition} has no leader, and others hold it"
                if set(partition.isr) != set(partition.replicas):
                    return f"{partition.topic}-{partition.partition} has {list(partition.isr)} in sync"
            elif (partition.topic_id, partition.partition) in lost:
                if partition.leader != NO_NODE:
                    return f"{partition.topic}-{partition.partition} has a leader, and its records are gone"
            elif node_id not in partition.replicas and partition.leader == NO_NODE:
                return f"{partition.topic}-{partition.partition} has no leader, and its disk is well"
        return None
