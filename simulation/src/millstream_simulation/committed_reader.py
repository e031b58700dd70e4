"""Reads committed records of a topic all the time, and notes what it sees and how far it is let."""

import asyncio

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.transaction_ledger import TransactionLedger

PAUSE_S = 0.2
ROUND_S = 0.1


class CommittedReader:
    def __init__(self, client: KafkaClient, partitions: int, ledger: TransactionLedger) -> None:
        self._client = client
        self._positions = dict.fromkeys(range(partitions), 0)
        self._ledger = ledger
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True

    async def run(self) -> None:
        while not self._stopping:
            for partition in self._positions:
                await self._read(partition)
            await asyncio.sleep(ROUND_S)
        await self._client.close()

    async def _read(self, partition: int) -> None:
        asked_s = asyncio.get_running_loop().time()
        try:
            fetched = await self._client.fetch(partition, self._positions[partition], max_wait_ms=30, committed=True)
        except NotNow:
            await asyncio.sleep(PAUSE_S)
            return
        self._ledger.note_stable(partition, fetched.last_stable_offset, asked_s=asked_s)
        for record in fetched.records:
            self._ledger.note_visible(partition, record.offset, record.value or b"")
        self._positions[partition] = fetched.next_offset
