"""An idempotent producer of the simulation: numbers its records and sends its batches until it knows what became of them."""

import asyncio
from collections import deque
from collections.abc import Sequence

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.in_flight import produce_in_order
from millstream_simulation.ledger import Ledger
from millstream_simulation.story import Story, Violation
from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, encode_batch

PAUSE_S = 0.2
BATCH_MAX = 3
BATCHES = (1, 1, 1, 2, 5)
"""In flight at once."""
Waiting = tuple[bytes, Sequence[bytes]]
"""A batch and its values."""

_FINAL = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.MESSAGE_TOO_LARGE,
    }
)
_TOO_FEW = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


class Producer:
    def __init__(
        self,
        name: str,
        client: KafkaClient,
        partitions: int,
        ledger: Ledger,
        story: Story,
        pause_s: tuple[float, float],
    ) -> None:
        """`pause_s`: at least and at most how long it waits between what it sends to a partition."""
        self._pause_s = pause_s
        self._name = name
        self._client = client
        self._partitions = partitions
        self._ledger = ledger
        self._story = story
        self._stopping = False

    def stop(self) -> None:
        """Send nothing new; what is under way is finished."""
        self._stopping = True

    async def run(self) -> None:
        producer_id, epoch = await self._identity()
        try:
            async with asyncio.TaskGroup() as tasks:
                for partition in range(self._partitions):
                    tasks.create_task(self._send_all(partition, producer_id, epoch))
        finally:
            await self._client.close()

    async def _identity(self) -> tuple[int, int]:
        while True:
            try:
                return await self._client.producer_id()
            except NotNow:
                await asyncio.sleep(PAUSE_S)

    async def _send_all(self, partition: int, producer_id: int, epoch: int) -> None:
        sequence = 0
        random = self._client.world.random
        while not self._stopping:
            await asyncio.sleep(random.uniform(*self._pause_s))
            waiting: deque[Waiting] = deque()
            for _ in range(random.choice(BATCHES)):
                values = [self._ledger.next_value(self._name, partition) for _ in range(random.randint(1, BATCH_MAX))]
                now_ms = self._client.world.now_ms()
                batch = encode_batch(
                    [Record(offset=0, timestamp=now_ms, key=None, value=value) for value in values],
                    producer_id=producer_id,
                    producer_epoch=epoch,
                    base_sequence=sequence,
                )
                waiting.append((batch, values))
                sequence += len(values)
            while waiting:
                await self._send(partition, waiting)

    async def _send(self, partition: int, waiting: deque[Waiting]) -> None:
        """Take off what is acknowledged; what is behind the first refusal is sent again with it."""
        batches = [batch for batch, _ in waiting]
        for error, base_offset in await produce_in_order(self._client, partition, batches):
            if error in _FINAL:
                raise Violation(f"{self._name} was refused with {error.name} in partition {partition}")
            if error is not ErrorCode.NONE:
                if error in _TOO_FEW:
                    self._story.note("not enough replicas")
                self._story.note("batch sent again")
                await asyncio.sleep(PAUSE_S)
                return
            _, values = waiting.popleft()
            for index, value in enumerate(values):
                self._ledger.note_acknowledged(partition, base_offset + index, value)
            self._story.add(
                "acknowledged", producer=self._name, partition=partition, offset=base_offset, records=len(values)
            )
