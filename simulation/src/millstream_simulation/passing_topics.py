"""Topics that come and go under the same few names while everything else happens, some in the middle of being written to.

The promise: what is in a new topic was written to it, and not to an earlier one of its name. Whether it is still there nobody promises:
a deletion that was thought lost may arrive late, and so may a creation.
"""

import asyncio
import random
from itertools import count
from uuid import UUID

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.stage import Stage, until_done
from millstream_simulation.story import Violation
from millstream_wire.records import Record, encode_batch

NAMES = ("passing-1", "passing-2")
PARTITIONS_MAX = 3
BATCHES_MAX = 3
PAUSE_S = (0.05, 2.0)
HOST = "passer"


class PassingTopics:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._random: random.Random = stage.random(HOST)
        self._numbers = count(1)

    async def run(self, until_s: float) -> None:
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(*PAUSE_S))
            await self._one_passes(self._random.choice(NAMES))

    async def _one_passes(self, name: str) -> None:
        number, partitions = next(self._numbers), self._random.randint(1, PARTITIONS_MAX)
        mark = b"%d " % number
        client = self._stage.client(HOST, name)
        topic_id = await until_done(client.create_topic, partitions)
        self._stage.story.add("topic passes", topic=name, number=number)
        async with asyncio.TaskGroup() as tasks:
            writing = [tasks.create_task(self._write(client, partition, mark)) for partition in range(partitions)]
            if topic_id is not None and self._random.random() < 0.5:
                await asyncio.wait(writing)
                for partition in range(partitions):
                    await self._check(client, topic_id, partition, mark)
            else:
                await asyncio.sleep(self._random.uniform(0, 0.02))
            await until_done(client.delete_topic)
        await client.close()

    async def _write(self, client: KafkaClient, partition: int, mark: bytes) -> None:
        for _ in range(self._random.randint(1, BATCHES_MAX)):
            record = Record(offset=0, timestamp=client.world.now_ms(), key=None, value=mark + b"%d" % partition)
            try:
                await client.produce(partition, encode_batch([record]))
            except NotNow:
                return

    async def _check(self, client: KafkaClient, topic_id: UUID, partition: int, mark: bytes) -> None:
        try:
            fetched = await client.fetch(partition, 0, max_wait_ms=0)
        except NotNow:
            return
        if client.named_topic()[1] != topic_id:
            return  # a broker told us of an earlier one, which it still had
        for record in fetched.records:
            if not (record.value or b"").startswith(mark):
                raise Violation(f"{client.topic} of number {mark.decode()}has {record.value!r} of an earlier one")
