"""A topic whose directories trouble takes away while it is written to.

The promise: in the end a partition either has all that was acknowledged, or has lost its directory and is offline. With several
replicas only one that several brokers have lost may be offline.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.host import Host
from millstream_simulation.stage import Stage, until_done
from millstream_simulation.story import Violation
from millstream_simulation.workload import whole_log
from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, encode_batch

HOST = "exposer"
TOPIC = "exposed"
PARTITIONS = 4
PAUSE_S = (0.05, 0.5)


class ExposedTopics:
    def __init__(self, stage: Stage, hosts: Sequence[Host], *, replicated: bool) -> None:
        self._stage = stage
        self._replicated = replicated
        self._hosts = hosts
        self._random: random.Random = stage.random(HOST)
        self._acknowledged: dict[tuple[int, int], bytes] = {}
        self._sent = 0

    async def run(self, until_s: float) -> None:
        client = self._stage.client(HOST, TOPIC)
        await until_done(client.create_topic, PARTITIONS)
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(*PAUSE_S))
            await self._write(client, self._random.randrange(PARTITIONS))
        await client.close()

    async def judge(self) -> None:
        client = self._stage.client("judge", TOPIC)
        lost = Counter(name for host in self._hosts for name in host.lost.values())
        for partition in range(PARTITIONS):
            times = lost[f"{TOPIC}-{partition}"]
            if times and not self._replicated:
                await self._expect_offline(client, partition)
            elif times <= 1 or not await self._is_offline(client, partition):
                await self._expect_all(client, partition)
        await client.close()
        self._stage.story.add("exposed topics checked", lost=sorted(lost), records=len(self._acknowledged))

    async def _expect_offline(self, client: KafkaClient, partition: int) -> None:
        if not await self._is_offline(client, partition):
            raise Violation(f"{TOPIC}-{partition} has lost its directory, and is led again")

    async def _is_offline(self, client: KafkaClient, partition: int) -> bool:
        await until_done(client.refresh)
        try:
            await client.expect_leader(partition)
        except NotNow:
            return True
        return False

    async def _expect_all(self, client: KafkaClient, partition: int) -> None:
        found = dict(await whole_log(client, partition))
        for (of_partition, offset), value in self._acknowledged.items():
            if of_partition == partition and found.get(offset) != value:
                raise Violation(
                    f"acknowledged {value!r} at {offset} of {TOPIC}-{partition}; it holds {found.get(offset)!r}"
                )

    async def _write(self, client: KafkaClient, partition: int) -> None:
        """Once: whether a batch whose answer is lost is there, nobody promises."""
        self._sent += 1
        value = b"%d %d" % (partition, self._sent)
        record = Record(offset=0, timestamp=client.world.now_ms(), key=None, value=value)
        try:
            error, offset = await client.produce(partition, encode_batch([record]))
        except NotNow:
            return
        if error is ErrorCode.NONE:
            self._acknowledged[partition, offset] = value
