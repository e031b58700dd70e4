"""Consume, transform, produce: each batch of a source is answered in one transaction with the offset it was read up to.

Two ways to share out the source: fixed partitions for each transactional id, or a consumer group whose members have a
transactional id each.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence

from millstream_simulation.client import KafkaClient, NotNow
from millstream_simulation.consumer import Identity, Rewind
from millstream_simulation.ownership import Partition
from millstream_simulation.transaction_ledger import TransactionLedger
from millstream_simulation.transactional import Abortable, Fenced, Offset, TransactionalProducer
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import OffsetFetchRequest
from millstream_wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from millstream_wire.records import Record

PAUSE_S = 0.2
ROUND_S = 0.15
NOBODY = -1
RECORDS_MAX = 30
"""Of one transaction."""


class Transformation:
    """From records to one transaction; `commits`: how many of ten are committed, the others aborted."""

    def __init__(
        self,
        producer: TransactionalProducer,
        ledger: TransactionLedger,
        rng: random.Random,
        *,
        partitions: int,
        commits: int = 8,
    ) -> None:
        self.producer = producer
        self._ledger = ledger
        self._random = rng
        self._partitions = partitions
        self._commits = commits
        self._is_producer = False

    async def become_producer(self) -> None:
        """Before it looks where to go on: from then on nobody else of this transactional id moves that."""
        if not self._is_producer:
            await self.producer.init()
            self._is_producer = True

    async def handle(self, member: Identity, partition: Partition, records: Sequence[Record], next_offset: int) -> None:
        topic, index = partition
        try:
            await self.become_producer()
            attempt = self.producer.begin()
            results: dict[int, list[bytes]] = {}
            for record in records:
                where = self._random.randrange(self._partitions)
                results.setdefault(where, []).append(self._ledger.new_result(attempt, where, (index, record.offset)))
            offset = Offset(member=member, topic=topic, partition=index, offset=next_offset)
            await self.producer.transact(attempt, results, offset, commit=self._random.randrange(10) < self._commits)
        except Fenced:
            self._is_producer = False
            raise Rewind from None
        except Abortable:
            raise Rewind from None


class Transformer:
    """Of fixed partitions of the source. A newer one of its transactional id may run beside it: `is_latest`."""

    def __init__(
        self,
        name: str,
        group: str,
        source: KafkaClient,
        mine: Sequence[int],
        transformation: Transformation,
        is_latest: Callable[["Transformer"], bool],
    ) -> None:
        self.name = name
        self.transformation = transformation
        self._group = group
        self._source = source
        self._mine = mine
        self._is_latest = is_latest
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True

    async def run(self) -> None:
        try:
            while not self._stopping:
                try:
                    await self.transformation.become_producer()
                    await self._work(await committed(self._source, self._group, self._mine))
                except Rewind:
                    if not self._is_latest(self):
                        return  # it was replaced
                except NotNow:
                    await asyncio.sleep(PAUSE_S)
        finally:
            await self._source.close()
            await self.transformation.producer.close()

    async def _work(self, positions: Mapping[int, int]) -> None:
        positions = dict(positions)
        nobody = Identity(group=self._group, member_id="", epoch=NOBODY, instance_id=None)
        while not self._stopping:
            for index in self._mine:
                fetched = await self._source.fetch(index, positions[index], max_wait_ms=30)
                if records := fetched.records[:RECORDS_MAX]:
                    end = records[-1].offset + 1
                    await self.transformation.handle(nobody, (self._source.topic, index), records, end)
                    positions[index] = end
            await asyncio.sleep(ROUND_S)


async def committed(client: KafkaClient, group: str, partitions: Sequence[int]) -> dict[int, int]:
    """Where the group came to, once no transaction under way can change that; NotNow until then."""
    await client.refresh()
    name, topic_id = client.named_topic()
    asked = OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=list(partitions))
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=[asked])], require_stable=True)
    answer = (await client.ask_coordinator(group, request)).groups[0]
    errors = [answer.error_code, *(each.error_code for topic in answer.topics for each in topic.partitions)]
    if any(errors):
        client.forget_coordinator()
        raise NotNow(ErrorCode(next(filter(None, errors))).name)
    return {each.partition_index: max(0, each.committed_offset) for each in answer.topics[0].partitions}
