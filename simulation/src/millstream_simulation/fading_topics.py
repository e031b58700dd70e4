"""Topics that let go of their records by age or size while they are written to and everything goes wrong.

The promise: what is still there is what was written there, and the log never ends before what it acknowledged.
"""

import asyncio
import random

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.stage import Stage, until_done
from millstream_simulation.story import Violation
from millstream_wire.errors import ErrorCode
from millstream_wire.records import Record, encode_batch

HOST = "fader"
PAUSE_S = (0.02, 0.3)
LIMITS = (
    {"retention.bytes": "2000", "segment.ms": "500"},
    {"retention.ms": "1500", "segment.ms": "300"},
)


class FadingTopics:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._random: random.Random = stage.random(HOST)
        self._acknowledged: dict[tuple[str, int], bytes] = {}
        self._sent = 0

    async def run(self, until_s: float) -> None:
        clients = [self._stage.client(HOST, f"fading-{number}") for number in range(len(LIMITS))]
        for client, limits in zip(clients, LIMITS, strict=True):
            await until_done(client.create_topic, 1, limits)
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(*PAUSE_S))
            await self._write(self._random.choice(clients))
        for client in clients:
            await client.close()

    async def judge(self) -> None:
        for number in range(len(LIMITS)):
            client = self._stage.client("judge", f"fading-{number}")
            await self._judge(client)
            await client.close()
        self._stage.story.add("fading topics checked", records=len(self._acknowledged))

    async def _judge(self, client: KafkaClient) -> None:
        acknowledged = {offset: value for (topic, offset), value in self._acknowledged.items() if topic == client.topic}
        end = await until_done(client.end_offset, 0)
        if end <= max(acknowledged, default=-1):
            raise Violation(f"{client.topic} ends at {end}, and {max(acknowledged)} was acknowledged")
        start = await until_done(client.start_offset, 0)
        if start > 0:
            self._stage.story.note("records gone by age or size")
        try:
            fetched = await client.fetch(0, start, max_wait_ms=0)
        except NotNow:
            return  # gone meanwhile
        for record in fetched.records:
            if acknowledged.get(record.offset, record.value) != record.value:
                raise Violation(
                    f"acknowledged {acknowledged[record.offset]!r} at {record.offset} of {client.topic}; "
                    f"it holds {record.value!r}"
                )

    async def _write(self, client: KafkaClient) -> None:
        """Once: whether a batch whose answer is lost is there, nobody promises."""
        self._sent += 1
        value = b"%s %d " % (client.topic.encode(), self._sent) + bytes(100)
        record = Record(offset=0, timestamp=client.world.now_ms(), key=None, value=value)
        try:
            error, offset = await client.produce(0, encode_batch([record]))
        except NotNow:
            return
        if error is ErrorCode.NONE:
            self._acknowledged[client.topic, offset] = value
