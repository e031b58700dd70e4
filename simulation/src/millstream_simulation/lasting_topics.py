"""Topics that are made while everything goes wrong, written to now and then, and never deleted.

The promise: what was acknowledged is there in the end, at its offset, however young the topic was when its broker died.
"""

import asyncio
import random

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.stage import Stage, until_done
from millstream_simulation.story import Violation
from millstream_simulation.workload import whole_log
from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, encode_batch

HOST = "settler"
PAUSE_S = (0.5, 4.0)
TOPICS_MAX = 10
PARTITIONS_MAX = 2


class LastingTopics:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._random: random.Random = stage.random(HOST)
        self._topics: dict[str, int] = {}
        self._acknowledged: dict[tuple[str, int, int], bytes] = {}
        self._sent = 0

    async def run(self, until_s: float) -> None:
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(*PAUSE_S))
            if len(self._topics) < TOPICS_MAX and self._random.random() < 0.6:
                await self._settle()
            elif self._topics:
                topic = self._random.choice(list(self._topics))
                client = self._stage.client(HOST, topic)
                await self._write(client, self._random.randrange(self._topics[topic]))
                await client.close()

    async def judge(self) -> None:
        for topic, partitions in self._topics.items():
            client = self._stage.client("judge", topic)
            for partition in range(partitions):
                found = dict(await whole_log(client, partition))
                for (of_topic, of_partition, offset), value in self._acknowledged.items():
                    if (of_topic, of_partition) == (topic, partition) and found.get(offset) != value:
                        raise Violation(
                            f"acknowledged {value!r} at {offset} of {topic}-{partition}; it holds {found.get(offset)!r}"
                        )
            await client.close()
        self._stage.story.add("lasting topics checked", topics=len(self._topics), records=len(self._acknowledged))

    async def _settle(self) -> None:
        name, partitions = f"lasting-{len(self._topics) + 1}", self._random.randint(1, PARTITIONS_MAX)
        client = self._stage.client(HOST, name)
        await until_done(client.create_topic, partitions)
        self._topics[name] = partitions
        self._stage.story.add("topic lasts", topic=name)
        for partition in range(partitions):
            await self._write(client, partition)
        await client.close()

    async def _write(self, client: KafkaClient, partition: int) -> None:
        """Once: whether a batch whose answer is lost is there, nobody promises."""
        self._sent += 1
        value = b"%s %d %d" % (client.topic.encode(), partition, self._sent)
        record = Record(offset=0, timestamp=client.world.now_ms(), key=None, value=value)
        try:
            error, offset = await client.produce(partition, encode_batch([record]))
        except NotNow:
            return
        if error is ErrorCode.NONE:
            self._acknowledged[client.topic, partition, offset] = value
