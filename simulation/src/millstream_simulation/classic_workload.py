"""Idempotent producers, and a classic group that reads and commits."""

import asyncio
import random
from collections.abc import Sequence

from millstream_simulation.ledger import Ledger
from millstream_simulation.member import Member
from millstream_simulation.producer import Producer
from millstream_simulation.shape import Shape
from millstream_simulation.stage import Stage, in_time, names, until_done
from millstream_simulation.workload import all_committed, whole_log

TOPIC = "orders"
GROUP = "readers"


class ClassicWorkload:
    def __init__(self, stage: Stage, shape: Shape) -> None:
        self._stage = stage
        self._random: random.Random = stage.random("readers")
        self._partitions = shape.partitions
        self._ledger = Ledger(stage.story)
        self._producers = [
            Producer(
                name, stage.client(name, TOPIC), shape.partitions, self._ledger, stage.story, shape.producer_pause_s
            )
            for name in names("producer", shape.producers)
        ]
        self._members = [
            Member(name, GROUP, stage.client(name, TOPIC), shape.partitions, self._ledger, stage.story)
            for name in names("member", shape.members)
        ]
        self.hosts = [*names("producer", shape.producers), *names("member", shape.members)]

    @property
    def ledgers(self) -> Sequence[Ledger]:
        return [self._ledger]

    async def prepare(self) -> None:
        admin = self._stage.client("admin", TOPIC)
        await until_done(admin.create_topic, self._partitions)
        await admin.close()
        self._stage.story.add("topic created")

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self._producing = [tasks.create_task(producer.run()) for producer in self._producers]
        self._consuming = [tasks.create_task(member.run()) for member in self._members]

    async def trouble(self, until_s: float) -> None:
        """Members stall, some for longer than their session lasts, and then go on as if nothing had happened."""
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(1.0, 10.0))
            number = self._random.randrange(len(self._members))
            self._members[number].stall_s = self._random.choice([1.0, 4.0, 9.0])
            self._stage.story.add("member stalls", member=number, seconds=self._members[number].stall_s)

    async def finish(self) -> None:
        for producer in self._producers:
            producer.stop()
        await in_time(self._producing, "the producers did not finish")
        caught_up = asyncio.create_task(all_committed(self._stage, TOPIC, self._partitions, GROUP, self._ledger))
        await in_time([caught_up], "the group did not catch up")
        for member in self._members:
            member.stop()
        await in_time(self._consuming, "the members did not leave")

    async def judge(self) -> None:
        client = self._stage.client("judge", TOPIC)
        for partition in range(self._partitions):
            self._ledger.check_log(partition, await whole_log(client, partition))
        await client.close()
