"""A consumer group (KIP-848) whose members come, go, crash, stall and change their minds while its topics grow."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace

from millstream_simulation.consumer import Consumer, Subscription
from millstream_simulation.ledger import Ledger
from millstream_simulation.ownership import Ownership, Partition
from millstream_simulation.producer import Producer
from millstream_simulation.shape import Shape
from millstream_simulation.stage import Stage, in_time, names, until_done
from millstream_simulation.workload import all_committed, whole_log

TOPICS = ("parcels", "parcels-abroad")
REGEX = "parcels.*"
GROUP = "carriers"
STABLE_S = 0.5


class ConsumerWorkload:
    def __init__(self, stage: Stage, shape: Shape, *, calm: bool = False) -> None:
        """`calm`: no trouble but the cluster's own."""
        self._stage = stage
        self._random: random.Random = stage.random("carriers")
        self._calm = calm
        self._partitions = dict.fromkeys(TOPICS, shape.partitions)
        self._produced = shape.partitions
        self._ledgers = {topic: Ledger(stage.story) for topic in TOPICS}
        self._ownership = Ownership(GROUP)
        self._producers = [
            Producer(
                name,
                stage.client(name, topic),
                shape.partitions,
                self._ledgers[topic],
                stage.story,
                shape.producer_pause_s,
            )
            for topic, name in zip(TOPICS, names("sender", shape.producers), strict=False)
        ]
        self._slots = names("carrier", shape.members)
        self._lives = 0
        self._members: dict[str, tuple[Consumer, asyncio.Task[None]]] = {}
        self.hosts = [*names("sender", shape.producers), *self._slots]

    @property
    def ledgers(self) -> Sequence[Ledger]:
        return list(self._ledgers.values())

    async def prepare(self) -> None:
        for topic in TOPICS:
            admin = self._stage.client("admin", topic)
            await until_done(admin.create_topic, self._partitions[topic])
            await admin.close()

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._producing = [tasks.create_task(producer.run()) for producer in self._producers]
        for slot in self._slots:
            self._begin(slot)

    async def trouble(self, until_s: float) -> None:
        choices = [self._crash, self._crash, self._leave, self._stall, self._stall, self._change, self._grow]
        while not self._calm and asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(0.5, 5.0))
            slot = self._random.choice(self._slots)
            await self._random.choice(choices)(slot)

    async def finish(self) -> None:
        for producer in self._producers:
            producer.stop()
        await in_time(self._producing, "the producers did not finish")
        tasks = [
            asyncio.create_task(all_committed(self._stage, topic, self._produced, GROUP, self._ledgers[topic]))
            for topic in TOPICS
        ]
        await in_time(tasks, f"group {GROUP} did not catch up")
        await in_time([asyncio.create_task(self._stable())], f"group {GROUP} did not settle")
        await self._grow(self._slots[0])  # now nothing but the metadata tells the group
        await in_time([asyncio.create_task(self._stable())], f"group {GROUP} did not settle with its topic grown")
        for member, _ in self._members.values():
            member.stop()
        await in_time([task for _, task in self._members.values()], "the members did not leave")

    async def judge(self) -> None:
        for topic, ledger in self._ledgers.items():
            client = self._stage.client("judge", topic)
            for partition in range(self._produced):
                log = await whole_log(client, partition)
                ledger.check_log(partition, log)
                ledger.check_processed(GROUP, partition, log)
            await client.close()

    # The members

    def _begin(self, slot: str) -> None:
        self._lives += 1
        member_id = f"{slot}-{self._lives}"
        static = f"place-of-{slot}" if self._random.random() < 0.3 else None
        clients = {topic: self._stage.client(slot, topic) for topic in TOPICS}
        member = Consumer(
            slot,
            member_id,
            GROUP,
            replace(self._subscription(), instance_id=static),
            clients,
            self._ledgers,
            self._ownership,
            self._stage.story,
        )
        self._stage.story.add("joins", member=member_id, subscription=member.subscription)
        self._members[slot] = member, self._tasks.create_task(self._run(member))

    async def _run(self, member: Consumer) -> None:
        try:
            await member.run()
        except asyncio.CancelledError:
            return  # crashed

    def _subscription(self) -> Subscription:
        assignor = self._random.choice([None, "uniform", "range"])
        if self._random.random() < 0.5:
            return Subscription(regex=REGEX, assignor=assignor)
        return Subscription(topics=TOPICS, assignor=assignor)

    async def _crash(self, slot: str) -> None:
        """The process dies and starts again."""
        member, task = self._members[slot]
        self._stage.story.add("member crashed", member=member.name)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(self._random.choice([0.1, 1.0, 5.0]))
        self._begin(slot)

    async def _leave(self, slot: str) -> None:
        member, task = self._members[slot]
        member.stop()
        await asyncio.wait([task])
        await asyncio.sleep(self._random.uniform(0.0, 2.0))
        self._begin(slot)

    async def _stall(self, slot: str) -> None:
        member, _ = self._members[slot]
        member.stall_s = self._random.choice([1.0, 6.0, 9.0])
        self._stage.story.add("member stalls", member=slot, seconds=member.stall_s)

    async def _change(self, slot: str) -> None:
        member, _ = self._members[slot]
        member.change(replace(self._subscription(), instance_id=member.subscription.instance_id))

    async def _grow(self, slot: str) -> None:
        topic = self._random.choice(TOPICS)
        if self._partitions[topic] >= 2 * self._produced:
            return
        self._partitions[topic] += 1
        admin = self._stage.client("admin", topic)
        await until_done(admin.grow_topic, self._partitions[topic])
        await admin.close()
        self._stage.story.add("topic grown", topic=topic, partitions=self._partitions[topic])

    async def _stable(self) -> None:
        """Return once the members have everything between them, and nothing twice."""
        everything = sorted((topic, index) for topic, count in self._partitions.items() for index in range(count))
        while True:
            members = [member for member, _ in self._members.values()]
            had: list[Partition] = [partition for member in members for partition in member.has]
            if sorted(had) == everything and all(member.settled for member in members):
                self._stage.story.add("group settled", members=len(members))
                return
            await asyncio.sleep(STABLE_S)
