"""Which partitions this broker copies, and from whom: follows what the metadata says of each of them.

A partition stops being copied before its standing hears of another leader, and is copied again after that: so nothing is
appended to a log that this broker leads.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_cluster.ids import NO_NODE
from millstream_cluster.members import Partition

if TYPE_CHECKING:
    from millstream_broker.shell.replication.fetching import Fetching


class Replication:
    """Invariant: a partition is copied only from the leader that its standing follows, in that leader's epoch."""

    def __init__(self, broker: Broker, *, broker_epoch: Callable[[], int]) -> None:
        self._broker = broker
        self._broker_epoch = broker_epoch
        self._fetching: Fetching | None = None
        """Once something is copied."""
        self._begun = asyncio.Event()
        partitions = broker.partitions
        partitions.before_assigned = self._before_assigned
        partitions.after_assigned = self._after_assigned
        partitions.on_removed = self._stop
        partitions.on_question = self._tell

    def __len__(self) -> int:
        return 0 if self._fetching is None else len(self._fetching)

    async def run(self) -> None:
        await self._begun.wait()
        await self._begin().run()

    def _begin(self) -> "Fetching":
        if self._fetching is None:
            from millstream_broker.shell.replication.fetching import Fetching  # what nobody needs who copies nothing

            self._fetching = Fetching(self._broker, self._broker_epoch)
            self._begun.set()
        return self._fetching

    def _before_assigned(self, replica: HostedPartition, partition: Partition) -> None:
        fetching = self._fetching
        if fetching is not None and not (self._is_copied(partition) and fetching.is_followed_as(replica, partition)):
            fetching.stop(replica)

    def _after_assigned(self, replica: HostedPartition, partition: Partition) -> None:
        if self._is_copied(partition):
            self._begin().follow(replica, partition)

    def _is_copied(self, partition: Partition) -> bool:
        """Who is about to stop copies nothing that it has left: its leader would only ask to let it in again."""
        node_id = self._broker.config.node_id
        if partition.leader in (NO_NODE, node_id):
            return False
        return not self._broker.is_leaving or node_id in partition.isr

    def _tell(self, replica: HostedPartition) -> None:
        """Its log takes nothing more: its leader should know at once."""
        if self._fetching is not None:
            self._fetching.tell(replica)

    def _stop(self, replica: HostedPartition) -> None:
        if self._fetching is not None:
            self._fetching.stop(replica)
