"""A client that asks again and again where a partition ends, and reads from there, while leaders come and go.

The promise: whom it asks in a leader epoch that is not older than what it knows, says no lower end than was said before, nor
one below what was acknowledged; and what was said to be there is never out of range (KIP-207, KIP-320).
"""

import asyncio
import random
from collections.abc import Callable

from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord, PartitionChanged
from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_simulation.client import CONSUMER, LATEST, TIMEOUT_MS, KafkaClient, NotNow
from millstream_simulation.stage import Stage, until_done
from millstream_simulation.story import Violation
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, ListOffsetsRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsTopic,
)
from millstream_wire.records import Record, encode_batch

HOST = "watcher"
TOPIC = "watched"
PAUSE_S = (0.02, 0.4)
ASKS, ASKS_EVERY_S = 10, 0.001
"""Of whoever has just been elected, by clients that happen to ask then: it may not know yet how far the last leader had committed."""


class WatchedEnds:
    def __init__(self, stage: Stage, committed: Callable[[], Image]) -> None:
        """`committed`: the metadata, as far as it is committed by now."""
        self._stage = stage
        self._committed = committed
        self._random: random.Random = stage.random(HOST)
        self._known = (-1, 0)
        """A leader epoch, and the highest end that anybody has said or acknowledged in it or before."""
        self._sent = 0
        self._elected: asyncio.Queue[tuple[str, PartitionChanged]] = asyncio.Queue()
        """Of which topic, and what the metadata says."""

    def on_committed(self, image: Image, record: MetadataRecord) -> None:
        """`record` is new in the committed log, and `image` is from before it."""
        if isinstance(record, PartitionChanged) and record.leader != NO_NODE and len(record.replicas) > 1:
            before = image.partition(record.topic_id, record.partition)
            if before is not None and before.leader_epoch != record.leader_epoch:
                self._elected.put_nowait((before.topic, record))

    async def run(self, until_s: float) -> None:
        client = self._stage.client(HOST, TOPIC)
        await until_done(client.create_topic, 1)
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(self._ask_whoever_is_elected())
            while asyncio.get_running_loop().time() < until_s:
                await asyncio.sleep(self._random.uniform(*PAUSE_S))
                try:
                    await client.expect_leader(0)
                    await self._random.choice((self._write, self._ask, self._read))(client)
                except NotNow:
                    continue
            asking.cancel()
        await client.close()

    async def _ask_whoever_is_elected(self) -> None:
        """As if each of many clients had just found a new leader: one asks before the first follower does."""
        nodes = Nodes(self._stage.world(HOST), client_id=HOST)
        async with asyncio.TaskGroup() as asking:
            while True:
                topic, elected = await self._elected.get()
                asking.create_task(self._ask_elected(nodes, topic, elected))

    async def _ask_elected(self, nodes: Nodes, topic: str, elected: PartitionChanged) -> None:
        address = next(address for address in self._stage.brokers if address[0] == f"broker-{elected.leader}")
        request = _latest(topic, elected.partition, elected.leader_epoch)
        for _ in range(ASKS):
            known = self._known
            try:
                answer = (await nodes.request(*address, request, timeout_ms=TIMEOUT_MS)).topics[0].partitions[0]
            except ClientError:
                return
            if topic == TOPIC:
                self._judge_end(answer, elected.leader_epoch, known)
            if answer.error_code == ErrorCode.OFFSET_NOT_AVAILABLE:
                self._stage.story.note("end not known yet")
            if answer.error_code == ErrorCode.NONE:
                return
            await asyncio.sleep(ASKS_EVERY_S)

    async def judge(self) -> None:
        client = self._stage.client("judge", TOPIC)
        end = await until_done(client.end_offset, 0)
        if end < self._known[1]:
            raise Violation(f"{TOPIC} ends at {end}, and {self._known[1]} was said before")
        await client.close()

    async def _write(self, client: KafkaClient) -> None:
        self._sent += 1
        record = Record(offset=0, timestamp=client.world.now_ms(), key=None, value=b"%d" % self._sent)
        error, offset = await client.produce(0, encode_batch([record]))
        if error is ErrorCode.NONE:
            # The answer does not say in which epoch it was appended: in no later one than there is now.
            partition = self._committed().partition(TOPIC, 0)
            assert partition is not None
            self._known = (max(self._known[0], partition.leader_epoch), max(self._known[1], offset + 1))

    async def _ask(self, client: KafkaClient) -> None:
        epoch, known = client.leader_epoch(0), self._known
        answer = (await client.ask_leader(0, _latest(TOPIC, 0, epoch))).topics[0].partitions[0]
        client.judged(0, ErrorCode(answer.error_code))
        self._judge_end(answer, epoch, known)

    def _judge_end(self, answer: ListOffsetsPartitionResponse, epoch: int, known: tuple[int, int]) -> None:
        """`known` is from before it was asked."""
        error, (known_epoch, end) = ErrorCode(answer.error_code), known
        if error is not ErrorCode.NONE or epoch < known_epoch:
            return
        if answer.offset < end:
            raise Violation(
                f"{TOPIC} ends at {answer.offset} in leader epoch {epoch}; up to {end} it was there in {known_epoch}"
            )
        self._known = (max(epoch, self._known[0]), max(answer.offset, self._known[1]))

    async def _read(self, client: KafkaClient) -> None:
        """At the end: nothing may be there yet, and whoever leads knows that it can be."""
        epoch, (known_epoch, known) = client.leader_epoch(0), self._known
        wanted = FetchPartition(
            partition=0, current_leader_epoch=epoch, fetch_offset=known, partition_max_bytes=1 << 10
        )
        request = FetchRequest(max_wait_ms=TIMEOUT_MS // 10, min_bytes=1, max_bytes=1 << 10)
        request.topics = [FetchTopic(topic=TOPIC, topic_id=client.named_topic()[1], partitions=[wanted])]
        answer = await client.ask_leader(0, request)
        if answer.error_code or not answer.responses:
            raise NotNow("no answer about the partition")
        error = client.judged(0, ErrorCode(answer.responses[0].partitions[0].error_code))
        if error is ErrorCode.OFFSET_OUT_OF_RANGE and epoch >= known_epoch:
            raise Violation(
                f"{known} of {TOPIC} is out of range in leader epoch {epoch}; it was there in {known_epoch}"
            )


def _latest(topic: str, partition: int, epoch: int) -> ListOffsetsRequest:
    wanted = ListOffsetsPartition(partition_index=partition, current_leader_epoch=epoch, timestamp=LATEST)
    return ListOffsetsRequest(replica_id=CONSUMER, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
