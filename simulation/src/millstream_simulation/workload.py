"""What the clients of a run do, of which a seed chooses: each kind starts, comes to an end in peace, and is judged."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from millstream_simulation.client import KafkaClient
from millstream_simulation.ledger import Ledger
from millstream_simulation.stage import Stage, until_done


class Workload(Protocol):
    @property
    def hosts(self) -> Sequence[str]:
        """Where its clients run: they can be cut off from the cluster."""

    @property
    def ledgers(self) -> Sequence[Ledger]: ...

    async def prepare(self) -> None:
        """Create what it needs, in a cluster without trouble."""

    def start(self, tasks: asyncio.TaskGroup) -> None: ...

    async def trouble(self, until_s: float) -> None:
        """Make trouble of its own until that time: members that crash, come and go."""

    async def finish(self) -> None:
        """The trouble is over: all that has to come about comes about, in time; then the clients stop."""

    async def judge(self) -> None:
        """Look at what is left, and raise Violation if it is not what was promised."""


async def whole_log(client: KafkaClient, partition: int, *, committed: bool = False) -> list[tuple[int, bytes]]:
    """Offsets and values of everything in a partition, or of all that is committed."""
    log: list[tuple[int, bytes]] = []
    end = await until_done(client.end_offset, partition, committed=committed)
    position = 0
    while position < end:
        fetched = await until_done(client.fetch, partition, position, committed=committed)
        log += [(record.offset, record.value or b"") for record in fetched.records]
        position = fetched.next_offset
    return log


async def all_committed(stage: Stage, topic: str, partitions: int, group: str, ledger: Ledger) -> None:
    """Return once the group has committed every record."""
    client = stage.client("auditor", topic)
    for partition in range(partitions):
        end = await until_done(client.end_offset, partition)
        while True:
            if ledger.committed(group, partition) >= end:
                break
            await asyncio.sleep(0.5)
    await client.close()
