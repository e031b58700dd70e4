"""Partitions whose topics ask for every record to be flushed, and that have something to flush: each once, in order."""

import asyncio

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.partition.hosted import HostedPartition


class DueFlushes:
    def __init__(self) -> None:
        self._due: dict[ReplicaKey, HostedPartition] = {}
        self._some = asyncio.Event()

    def add(self, replica: HostedPartition) -> None:
        self._due[replica.key] = replica
        self._some.set()

    async def next(self) -> HostedPartition:
        while not self._due:
            self._some.clear()
            await self._some.wait()
        return self._due.pop(next(iter(self._due)))
