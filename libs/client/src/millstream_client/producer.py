"""Writes records: gathers them into batches per partition and sends these, again if need be, to the partitions' leaders.

Idempotent unless told otherwise. One request per node is under way at a time and one batch per partition, so that
order holds however often a batch is sent. What is not acknowledged yet is bounded: `send` waits for room.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Literal

from millstream_client.assignment import TopicPartition
from millstream_client.background import Background
from millstream_client.batches import NO_IDENTITY, Batch, Delivered, Identity, Lane, size_of
from millstream_client.cluster import BACKOFF_MS, Backoff, Cluster
from millstream_client.errors import Closed, Expired, InvalidData, KafkaError, Refused, Unreachable, code_of
from millstream_client.metadata import NO_LEADER
from millstream_client.partitioner import RoundRobin, partition_of_key
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.init_producer_id import InitProducerIdRequest
from millstream_wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from millstream_wire.records import Compression, Header, Record

Acks = Literal[-1, 0, 1]
ACKS_ALL: Acks = -1
EXPIRY_CHECK_MS = 1_000

_IDENTITY_LOST = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    acks: Acks = ACKS_ALL
    """Who has to have a record before it counts: all in-sync replicas, the leader (1), nobody (0)."""
    idempotent: bool = True
    """No record twice however often it is sent; needs acks of all."""
    linger_ms: int = 5
    """How long a batch waits for more records."""
    batch_bytes: int = 128 * 1024
    """A batch of this size does not wait."""
    buffer_bytes: int = 32 * 1024 * 1024
    """Records that are not acknowledged yet; beyond it `send` waits."""
    compression: Compression = Compression.NONE
    delivery_timeout_ms: int = 120_000
    """From `send` to the acknowledgement, all attempts included."""
    request_timeout_ms: int = 30_000

    @property
    def keeps_identity(self) -> bool:
        return self.idempotent and self.acks == ACKS_ALL


class Producer:
    """Use as `async with`; leaving flushes. `send` from the same event loop only."""

    def __init__(self, cluster: Cluster, config: ProducerConfig | None = None) -> None:
        self._cluster = cluster
        self._config = config or ProducerConfig()
        self._lanes: dict[TopicPartition, Lane] = {}
        self._turns: dict[str, RoundRobin] = {}
        self._busy: set[int] = set()
        self._identity = NO_IDENTITY
        self._unacknowledged_bytes = 0
        self._room = asyncio.Condition()
        self._work = asyncio.Event()
        self._flushing = 0
        self._closing = False
        self._background = Background()

    async def __aenter__(self) -> "Producer":
        await self._background.__aenter__()
        self._background.start(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                await self.flush()
        finally:
            self._closing = True
            for lane in self._lanes.values():
                while lane.batches:
                    for waiting in self._fail(lane, Closed("the producer was closed")):
                        waiting.exception()  # who left with an error of their own need not hear of each record
            await self._background.__aexit__(kind, error, trace)

    # ---- taking records ----

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> "asyncio.Future[Delivered]":
        """Take a record, once there is room; the future is done when it is acknowledged, or fails."""
        if self._closing:
            raise Closed("the producer is closed")
        size = size_of(key, value, tuple(headers))
        await self._wait_for_room(size)
        chosen = partition if partition is not None else await self._choose_partition(topic, key)
        target = TopicPartition(topic, chosen)
        lane = self._lanes.get(target)
        if lane is None:
            lane = self._lanes[target] = Lane(target)
        now_ms = self._cluster.world.now_ms()
        record = Record(0, now_ms if timestamp_ms is None else timestamp_ms, key, value, tuple(headers))
        waiting: asyncio.Future[Delivered] = asyncio.get_running_loop().create_future()
        is_ready = lane.add(record, waiting, size=size, batch_bytes=self._config.batch_bytes, now_ms=self._now_ms())
        self._unacknowledged_bytes += size
        if is_ready or (len(lane.batches) == 1 and len(lane.batches[0].records) == 1):
            self._work.set()
        if is_ready:
            await asyncio.sleep(0)  # a caller that never waits would keep the sender from its work
        return waiting

    async def flush(self) -> None:
        """Send everything now and wait until it is acknowledged or has failed."""
        self._flushing += 1
        self._work.set()
        try:
            waiting = [each for lane in self._lanes.values() for batch in lane.batches for each in batch.waiting]
            if waiting:
                await asyncio.wait(waiting)
        finally:
            self._flushing -= 1

    async def _wait_for_room(self, size: int) -> None:
        if size > self._config.buffer_bytes:
            raise InvalidData(f"a record of {size} bytes does not fit a buffer of {self._config.buffer_bytes}")
        if self._unacknowledged_bytes + size <= self._config.buffer_bytes:
            return
        async with self._room:
            await self._room.wait_for(lambda: self._unacknowledged_bytes + size <= self._config.buffer_bytes)

    async def _choose_partition(self, name: str, key: bytes | None) -> int:
        topic = self._cluster.known(name) or await self._cluster.topic(name, create=True)
        if key is not None:
            return partition_of_key(key, len(topic.partitions))
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = RoundRobin(self._cluster.world.random.randrange(1 << 16))
        return turn.next(len(topic.partitions), topic.available)

    # ---- sending ----

    async def _run(self) -> None:
        backoff = Backoff()
        while True:
            self._work.clear()
            self._expire()
            due, wake_ms = await self._due()
            try:
                if due and self._config.keeps_identity and self._identity == NO_IDENTITY:
                    self._identity = await self._new_identity()
                for leader_id, lanes in due.items():
                    self._start(leader_id, lanes)
                backoff.reset()
                await self._wait_for_work(wake_ms)
            except Unreachable:
                await backoff.wait()
            except Refused as error:
                for lane in (lane for lanes in due.values() for lane in lanes):
                    self._fail(lane, error)

    async def _due(self) -> tuple[dict[int, list[Lane]], float]:
        """Partitions with a batch to send now, by their leader, and when the next one is due if nothing else happens."""
        due: defaultdict[int, list[Lane]] = defaultdict(list)
        wake_ms = float("inf")
        for lane in list(self._lanes.values()):
            if lane.sending or not lane.batches:
                continue
            leader_id = await self._leader(lane) if self._due_at(lane) <= self._now_ms() else None
            if leader_id is None:
                wake_ms = min(wake_ms, self._due_at(lane))
            elif leader_id not in self._busy:  # else the end of what is under way wakes us
                due[leader_id].append(lane)
        return due, wake_ms

    async def _leader(self, lane: Lane) -> int | None:
        """The node to send to now; None if there is none, and then the batch waits or has failed."""
        name, index = lane.partition
        try:
            topic = await self._cluster.topic(name)
        except (Refused, Unreachable) as error:
            if isinstance(error, Refused) and not error.code.retriable:
                self._fail(lane, error)
            else:
                self._retry_later(lane)
            return None
        if index >= len(topic.partitions):
            self._fail(lane, Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, subject=str(lane.partition)))
            return None
        leader_id = topic.partitions[index].leader_id
        if leader_id == NO_LEADER:
            self._cluster.forget(name)
            self._retry_later(lane)
            return None
        return leader_id

    def _start(self, leader_id: int, lanes: list[Lane]) -> None:
        batches: dict[TopicPartition, Batch] = {}
        by_topic: dict[str, TopicProduceData] = {}
        for lane in lanes:
            name, index = lane.partition
            topic = self._cluster.known(name)
            if topic is None:  # deleted just now
                self._work.set()
                continue
            batch = batches[lane.partition] = lane.encode_first(self._identity, self._config.compression)
            data = by_topic.setdefault(name, TopicProduceData(name=name, topic_id=topic.topic_id))
            data.partition_data.append(PartitionProduceData(index=index, records=batch.encoded))
            lane.sending = True
        if batches:
            timeout_ms = self._config.request_timeout_ms
            request = ProduceRequest(acks=self._config.acks, timeout_ms=timeout_ms, topic_data=list(by_topic.values()))
            self._busy.add(leader_id)
            self._background.start(self._send(leader_id, request, batches))

    async def _send(self, leader_id: int, request: ProduceRequest, batches: dict[TopicPartition, Batch]) -> None:
        try:
            if self._config.acks == 0:
                await self._cluster.tell(leader_id, request)
                answered = [(each, PartitionProduceResponse(base_offset=-1)) for each in batches]
            else:
                timeout_ms = self._config.request_timeout_ms
                answer = await self._cluster.ask(leader_id, request, timeout_ms=timeout_ms)
                answered = list(_answers(request, answer, batches))
        except Unreachable:
            answered = [(each, PartitionProduceResponse(error_code=ErrorCode.NETWORK_EXCEPTION)) for each in batches]
        self._busy.discard(leader_id)
        for partition in batches:
            self._lanes[partition].sending = False
        for partition, result in answered:
            self._settle(self._lanes[partition], batches[partition], result)
        self._work.set()
        async with self._room:
            self._room.notify_all()

    # ---- outcomes ----

    def _settle(self, lane: Lane, batch: Batch, answer: PartitionProduceResponse) -> None:
        if not lane.batches or lane.batches[0] is not batch:
            return  # it was given up meanwhile
        code = code_of(answer.error_code)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._deliver(lane, answer)
        elif code.retriable:
            self._cluster.forget(lane.partition.topic)
            self._retry_later(lane)
        else:
            if code in _IDENTITY_LOST or batch.attempts > 1:
                self._identity = NO_IDENTITY
            else:
                lane.take_back(batch)
            self._fail(lane, Refused(code, answer.error_message, subject=str(lane.partition)))

    def _deliver(self, lane: Lane, answer: PartitionProduceResponse) -> None:
        batch = self._remove_first(lane)
        topic, partition = lane.partition
        for delta, (record, waiting) in enumerate(zip(batch.records, batch.waiting, strict=True)):
            if not waiting.done():
                offset = answer.base_offset + delta if answer.base_offset >= 0 else -1
                timestamp_ms = answer.log_append_time_ms if answer.log_append_time_ms >= 0 else record.timestamp
                waiting.set_result(Delivered(topic, partition, offset, timestamp_ms))

    def _fail(self, lane: Lane, error: KafkaError) -> "list[asyncio.Future[Delivered]]":
        """Give up the first batch; return those who are told so."""
        told = [waiting for waiting in self._remove_first(lane).waiting if not waiting.done()]
        for waiting in told:
            waiting.set_exception(error)
        return told

    def _remove_first(self, lane: Lane) -> Batch:
        batch = lane.batches.popleft()
        lane.retry_at_ms = 0
        self._unacknowledged_bytes -= batch.size
        return batch

    def _retry_later(self, lane: Lane) -> None:
        lane.retry_at_ms = self._now_ms() + BACKOFF_MS

    def _expire(self) -> None:
        """Give up batches that are too old; what was sent may still arrive, so its sequences are not used again."""
        oldest_ms = self._now_ms() - self._config.delivery_timeout_ms
        for lane in self._lanes.values():
            while lane.batches and not lane.sending and lane.batches[0].created_ms < oldest_ms:
                if lane.batches[0].encoded is not None:
                    self._identity = NO_IDENTITY
                self._fail(
                    lane, Expired(f"{lane.partition}: not acknowledged in {self._config.delivery_timeout_ms} ms")
                )

    # ---- time ----

    def _due_at(self, lane: Lane) -> float:
        if not lane.batches:  # its only batch failed just now
            return float("inf")
        batch = lane.batches[0]
        at_once = self._flushing or len(lane.batches) > 1 or batch.encoded or batch.size >= self._config.batch_bytes
        return max(batch.created_ms if at_once else batch.created_ms + self._config.linger_ms, lane.retry_at_ms)

    async def _wait_for_work(self, wake_ms: float) -> None:
        wait_ms = min(max(wake_ms - self._now_ms(), 0), EXPIRY_CHECK_MS)
        try:
            async with asyncio.timeout(wait_ms / 1000):
                await self._work.wait()
        except TimeoutError:
            return

    async def _new_identity(self) -> Identity:
        backoff = Backoff()
        while True:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            answer = await self._cluster.ask_any(request)
            code = code_of(answer.error_code)
            if code is ErrorCode.NONE:
                return Identity(answer.producer_id, answer.producer_epoch)
            if not code.retriable:
                raise Refused(code, subject="producer id")
            await backoff.wait()

    def _now_ms(self) -> int:
        return self._cluster.world.monotonic_ms()


def _answers(
    request: ProduceRequest, answer: ProduceResponse, batches: dict[TopicPartition, Batch]
) -> Iterator[tuple[TopicPartition, PartitionProduceResponse]]:
    """What the answer says of each batch; a batch that it is silent about is tried again."""
    names = {topic.topic_id: topic.name for topic in request.topic_data}
    silent = dict.fromkeys(batches)
    for topic in answer.responses:
        for each in topic.partition_responses:
            partition = TopicPartition(topic.name or names.get(topic.topic_id, ""), each.index)
            if partition in silent:
                del silent[partition]
                yield partition, each
    for partition in silent:
        yield partition, PartitionProduceResponse(error_code=ErrorCode.NETWORK_EXCEPTION)
