"""A shard's partition, as its owner reads and writes it at whichever broker leads it.

An append is repeated, byte for byte, until its outcome is definite; nothing here knows what is in the records. Who is asked is the
leader of the moment: when the metadata names another one, nobody goes on waiting for the one before.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import field
from uuid import UUID

from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_runtime.nodes.interest import Interest, NoLonger
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import FetchRequest, FetchResponse, ProduceRequest, ProduceResponse
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, PartitionData
from millstream_wire.messages.produce import PartitionProduceData, PartitionProduceResponse, TopicProduceData

logger = logging.getLogger(__name__)

REQUEST_TIMEOUT_MS = 10_000
FETCH_WAIT_MS = 500
BACKOFF_FIRST_MS = 20
BACKOFF_MAX_MS = 1_000
ALL_REPLICAS = -1
NO_LEADER_EPOCH = -1


class Deposed(Exception):
    """The broker knows a later owner of the shard: nothing of ours gets in any more."""


class AppendRefused(Exception):
    """The log will never take these bytes, or does not know what came before them."""


@dataclass(frozen=True, slots=True)
class Batches:
    """What a read found; nothing, with where the log begins, if the offset is not in it."""

    data: memoryview | bytes
    log_start_offset: int


@dataclass(frozen=True, slots=True)
class Connections:
    """To the brokers. They answer each connection in order, so what may wait long must not stand before appends."""

    appends: Nodes
    reads: Nodes
    reads_at_a_time: asyncio.Semaphore
    """So that many shards load at once without holding all their records in memory."""
    interest: Interest = field(default_factory=Interest)
    """Of those who wait for a leader's answer in its being the leader."""

    async def close(self) -> None:
        await self.appends.close()
        await self.reads.close()


class ShardPartition:
    def __init__(
        self,
        world: World,
        connections: "Connections",
        image: Callable[[], Image],
        *,
        topic: str,
        topic_id: UUID,
        partition: int,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self._world = world
        self._connections = connections
        self._image = image

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    async def append(self, batch: bytes) -> int:
        """Return the offset of the batch's first record once it is committed; until then keep trying."""
        attempt = 0
        while True:
            answer = await self._produce(batch)
            error = ErrorCode.NETWORK_EXCEPTION if answer is None else ErrorCode(answer.error_code)
            if answer is not None and error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                return answer.base_offset
            if error in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED):
                raise Deposed(f"{self.name}: {error.name}")
            if not error.retriable:
                raise AppendRefused(f"{self.name}: {error.name}")
            attempt = await self._back_off(attempt, "append", error)

    async def read(self, offset: int, max_bytes: int) -> Batches:
        """Committed batches from `offset` on; perhaps none yet."""
        attempt = 0
        while True:
            # Held for one attempt only: a shard whose broker is away must not keep the others from loading.
            async with self._connections.reads_at_a_time:
                answer = await self._fetch(offset, max_bytes)
            error = ErrorCode.NETWORK_EXCEPTION if answer is None else ErrorCode(answer.error_code)
            if answer is not None and error is ErrorCode.NONE:
                return Batches(answer.records or b"", answer.log_start_offset)
            if answer is not None and error is ErrorCode.OFFSET_OUT_OF_RANGE and answer.log_start_offset > offset:
                return Batches(b"", answer.log_start_offset)
            attempt = await self._back_off(attempt, "read", error)

    async def _produce(self, batch: bytes) -> PartitionProduceResponse | None:
        data = PartitionProduceData(index=self.partition, records=batch)
        request = ProduceRequest(
            acks=ALL_REPLICAS,
            timeout_ms=REQUEST_TIMEOUT_MS,
            topic_data=[TopicProduceData(name=self.topic, topic_id=self.topic_id, partition_data=[data])],
        )
        answer = await self._ask_leader(self._connections.appends, request, 2 * REQUEST_TIMEOUT_MS)
        if not isinstance(answer, ProduceResponse):
            return None
        return answer.responses[0].partition_responses[0]

    async def _fetch(self, offset: int, max_bytes: int) -> PartitionData | None:
        part = FetchPartition(
            partition=self.partition,
            current_leader_epoch=self._leader()[1],  # a leader that was replaced and does not know it says so
            fetch_offset=offset,
            partition_max_bytes=max_bytes,
        )
        request = FetchRequest(
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            topics=[FetchTopic(topic=self.topic, topic_id=self.topic_id, partitions=[part])],
        )
        answer = await self._ask_leader(self._connections.reads, request, REQUEST_TIMEOUT_MS)
        if not isinstance(answer, FetchResponse) or not answer.responses:
            return None
        return answer.responses[0].partitions[0]

    @property
    def is_online(self) -> bool:
        """Whether a broker leads the partition, as far as we know."""
        found = self._image().partition(self.topic_id, self.partition)
        return found is not None and found.online

    def _leader(self) -> tuple[int, int]:
        """Which broker leads the partition as far as we know, and in which epoch."""
        found = self._image().partition(self.topic_id, self.partition)
        return (NO_NODE, NO_LEADER_EPOCH) if found is None else (found.leader, found.leader_epoch)

    async def _ask_leader(self, nodes: Nodes, request: ProduceRequest | FetchRequest, timeout_ms: int) -> object:
        """The leader's answer; None if there is no leader or none that answers while it leads."""
        leader = self._leader()
        node = self._image().node(leader[0])
        endpoint = node.endpoint("") if node is not None else None
        if endpoint is None:
            return None
        try:
            async with self._connections.interest.only_while(lambda: self._leader() == leader):
                return await nodes.request(endpoint.host, endpoint.port, request, timeout_ms=timeout_ms)
        except (ClientError, NoLonger) as error:
            logger.debug("leader silent partition=%s reason=%r", self.name, error)
            return None

    async def _back_off(self, attempt: int, what: str, error: ErrorCode) -> int:
        """Wait a little, or until somebody else leads; how often that was in a row."""
        if attempt == 4:
            logger.warning("%s still waits partition=%s error=%s", what, self.name, error.name)
        delay_ms = min(BACKOFF_FIRST_MS << attempt, BACKOFF_MAX_MS) * self._world.random.uniform(0.5, 1.0)
        leader = self._leader()
        try:
            async with self._connections.interest.only_while(lambda: self._leader() == leader):
                await asyncio.sleep(delay_ms / 1000)
        except NoLonger:
            return 0
        return min(attempt + 1, 10)
