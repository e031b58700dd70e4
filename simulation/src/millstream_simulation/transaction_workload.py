"""Consume, transform, produce in transactions that commit, abort, take too long, or are left by those who began them."""

import asyncio
import random
from collections.abc import Sequence

from millstream_simulation.client import KafkaClient
from millstream_simulation.committed_reader import CommittedReader
from millstream_simulation.consumer import Consumer, Subscription
from millstream_simulation.ledger import Ledger
from millstream_simulation.ownership import Ownership
from millstream_simulation.producer import Producer
from millstream_simulation.shape import Shape
from millstream_simulation.stage import Stage, in_time, names, until_done
from millstream_simulation.transaction_ledger import Place, TransactionLedger
from millstream_simulation.transactional import VERSION_1, VERSION_2, TransactionalProducer
from millstream_simulation.transformer import Transformation, Transformer, committed
from millstream_simulation.workload import whole_log

SOURCE = "payments"
SINK = "receipts"
GROUP = "cashiers"
LOOK_S = 0.5
TIMEOUTS_MS = (4_000, 12_000)
"""Of transactions: as short as a member's session, or so long that the group goes on without a member whose transaction may yet end."""


class TransactionWorkload:
    """`as_group`: the source's partitions are shared out by a consumer group; else each transactional id has its own."""

    def __init__(self, stage: Stage, shape: Shape, *, as_group: bool) -> None:
        self._stage = stage
        self._random: random.Random = stage.random("cashiers")
        self._partitions = shape.partitions
        self._sink_partitions = self._random.randint(1, 3)
        self._as_group = as_group
        self._ledger = Ledger(stage.story)
        self.transactions = TransactionLedger(stage.story)
        self._ownership = Ownership(GROUP)
        self._producers = [
            Producer(
                name, stage.client(name, SOURCE), shape.partitions, self._ledger, stage.story, shape.producer_pause_s
            )
            for name in names("payer", shape.producers)
        ]
        self._slots = names("cashier", min(shape.members, shape.partitions))
        self._latest: dict[str, Transformer | Consumer] = {}
        self._running: dict[Transformer | Consumer, asyncio.Task[None]] = {}
        self._producer_of: dict[Transformer | Consumer, TransactionalProducer] = {}
        self.hosts = [*names("payer", shape.producers), *self._slots, "receipt-reader"]

    @property
    def ledgers(self) -> Sequence[Ledger]:
        return [self._ledger]

    async def prepare(self) -> None:
        for topic, partitions in ((SOURCE, self._partitions), (SINK, self._sink_partitions)):
            admin = self._stage.client("admin", topic)
            await until_done(admin.create_topic, partitions)
            await admin.close()

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._producing = [tasks.create_task(producer.run()) for producer in self._producers]
        self._reader = CommittedReader(
            self._stage.client("receipt-reader", SINK), self._sink_partitions, self.transactions
        )
        self._reading = tasks.create_task(self._reader.run())
        for slot in self._slots:
            self._begin(slot)

    async def trouble(self, until_s: float) -> None:
        choices = [self._crash, self._stall, self._stall, self._replace]
        while asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(self._random.uniform(0.5, 4.0))
            await self._random.choice(choices)(self._random.choice(self._slots))

    async def finish(self) -> None:
        for producer in self._producers:
            producer.stop()
        await in_time(self._producing, "the producers did not finish")
        await self._all_done()
        for cashier in self._running:
            cashier.stop()
        await in_time(list(self._running.values()), "those who transact did not stop")
        await in_time([asyncio.create_task(self._all_stable())], "a transaction hangs")
        self._reader.stop()
        await in_time([self._reading], "the reader did not stop")

    async def judge(self) -> None:
        source, sink = self._stage.client("judge", SOURCE), self._stage.client("judge", SINK)
        inputs: list[Place] = []
        for partition in range(self._partitions):
            log = await whole_log(source, partition)
            self._ledger.check_log(partition, log)
            inputs += ((partition, offset) for offset, _ in log)
        logs = {
            partition: await whole_log(sink, partition, committed=True) for partition in range(self._sink_partitions)
        }
        self.transactions.check(logs, inputs)
        await source.close()
        await sink.close()

    # Those who transact

    def _begin(self, slot: str) -> None:
        stage = self._stage
        number = len(self._running)
        groups = stage.client(slot, SOURCE)
        flow = self._random.choice([VERSION_1, VERSION_2])
        producer = TransactionalProducer(
            slot,
            flow,
            stage.client(slot, SINK),
            groups,
            self.transactions,
            stage.story,
            timeout_ms=self._random.choice(TIMEOUTS_MS),
        )
        transformation = Transformation(
            producer, self.transactions, stage.random(f"{slot} {number}"), partitions=self._sink_partitions
        )
        cashier: Transformer | Consumer
        if self._as_group:
            cashier = self._member(slot, number, transformation, groups)
        else:
            mine = range(self._slots.index(slot), self._partitions, len(self._slots))
            cashier = Transformer(slot, GROUP, groups, mine, transformation, self._is_latest)
        stage.story.add("cashier begins", slot=slot, number=number, flow=flow)
        self._latest[slot] = cashier
        self._producer_of[cashier] = producer
        self._running[cashier] = self._tasks.create_task(self._run(cashier))

    def _member(self, slot: str, number: int, transformation: Transformation, client: KafkaClient) -> Consumer:
        return Consumer(
            slot,
            f"{slot}-{number}",
            GROUP,
            Subscription(topics=(SOURCE,)),
            {SOURCE: client},
            {SOURCE: self._ledger},
            self._ownership,
            self._stage.story,
            handle=transformation.handle,
        )

    def _is_latest(self, cashier: Transformer) -> bool:
        return self._latest[cashier.name] is cashier

    async def _run(self, cashier: Transformer | Consumer) -> None:
        try:
            await cashier.run()
        except asyncio.CancelledError:
            return  # crashed

    async def _crash(self, slot: str) -> None:
        """Whatever it had under way is left to the coordinator, or to its successor."""
        task = self._running[self._latest[slot]]
        self._stage.story.add("cashier crashed", slot=slot)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(self._random.choice([0.1, 1.0, 5.0]))
        self._begin(slot)

    async def _stall(self, slot: str) -> None:
        """In the middle of a transaction, perhaps for longer than that may take."""
        seconds = self._random.choice([0.5, 2.0, 6.0])
        producer = self._producer_of[self._latest[slot]]
        producer.stall_s, producer.stalls_late = seconds, self._random.random() < 0.5
        self._stage.story.add("cashier stalls", slot=slot, seconds=seconds, late=producer.stalls_late)

    async def _replace(self, slot: str) -> None:
        """Taken for gone, it is replaced, and goes on as if nothing had happened."""
        old = self._latest[slot]
        self._producer_of[old].stall_s = self._random.choice([0.2, 1.5, 3.0])
        await asyncio.sleep(self._random.choice([0.1, 1.0]))
        self._stage.story.add("cashier replaced", slot=slot)
        self._begin(slot)
        if isinstance(old, Consumer):
            old.stop()  # members of a group are not bound to come and go with their transactional ids

    # What peace brings

    async def _all_done(self) -> None:
        """Many payers and one cashier may leave a lot to do: what has to come in time is the next receipt, not the last."""
        client = self._stage.client("auditor", SOURCE)
        # A leader that was deposed and does not know it yet may tell an end before that of what was acknowledged (seed 654).
        asked = [await until_done(client.end_offset, partition) for partition in range(self._partitions)]
        ends = [max(end, self._ledger.end_of(partition)) for partition, end in enumerate(asked)]
        found: dict[int, int] = {}
        while any(found.get(partition, 0) < end for partition, end in enumerate(ends)):
            before = found
            looking = asyncio.create_task(self._look_for_more(client, before))
            await in_time([looking], "not all that was paid got its receipt, and none came")
            found = looking.result()
        await client.close()

    async def _look_for_more(self, client: KafkaClient, before: dict[int, int]) -> dict[int, int]:
        while True:
            found = await until_done(committed, client, GROUP, range(self._partitions))
            if found != before:
                return found
            await asyncio.sleep(LOOK_S)

    async def _all_stable(self) -> None:
        """No partition waits for the end of a transaction any more."""
        client = self._stage.client("auditor", SINK)
        for partition in range(self._sink_partitions):
            while True:
                fetched = await until_done(client.fetch, partition, 0, max_wait_ms=0)
                if fetched.last_stable_offset == fetched.high_watermark:
                    break
                await asyncio.sleep(LOOK_S)
        await client.close()
