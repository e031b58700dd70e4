"""Reads the partitions it is told to, from their leaders, ahead of whoever takes the records; how far ahead is bounded.

Knows offsets but nothing of groups: which partitions, and from where, is `consumer.py`'s to say.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from types import TracebackType

from millstream_client.assignment import TopicPartition
from millstream_client.background import Background
from millstream_client.buffer import PartitionBuffer
from millstream_client.cluster import BACKOFF_MS, Cluster, request
from millstream_client.errors import InvalidData, KafkaError, Refused, Unreachable, code_of
from millstream_client.metadata import NO_LEADER
from millstream_client.offsets import find_offsets
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from millstream_wire.records import Record

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_NO_SESSION_EPOCH = -1
_FIRST_PATIENCE_MS = 30_000
_IDLE_MS = 1_000


@dataclass(frozen=True, slots=True)
class FetchConfig:
    max_wait_ms: int = 500
    """How long a broker waits for news."""
    min_bytes: int = 1
    max_bytes: int = 16 * 1024 * 1024
    partition_max_bytes: int = 1024 * 1024
    ahead_bytes: int = 1024 * 1024
    """A partition of which this much is held is not fetched: at most this and one fetch of it are in memory."""
    isolation_level: int = READ_UNCOMMITTED
    reset_to: int | None = None
    """EARLIEST or LATEST: where to go on when an offset is no longer there; None makes that an error."""
    request_timeout_ms: int = 30_000
    unknown_topic_timeout_ms: int = _FIRST_PATIENCE_MS
    """How long a topic may be gone before that is an error."""


class Fetcher:
    """Use as `async with`."""

    def __init__(self, cluster: Cluster, config: FetchConfig) -> None:
        self._cluster = cluster
        self._config = config
        self._nodes = cluster.connections()  # a long poll blocks its connection
        self._buffers: dict[TopicPartition, PartitionBuffer] = {}
        self._pausing: dict[TopicPartition, int] = {}  # after a failure: not before this time
        self._missing_since: dict[str, int] = {}
        self._busy: set[int] = set()
        self._error: KafkaError | None = None
        self._work = asyncio.Event()
        self._arrived = asyncio.Event()
        self._background = Background()

    async def __aenter__(self) -> "Fetcher":
        await self._background.__aenter__()
        self._background.start(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._background.__aexit__(kind, error, trace)
        finally:
            await self._nodes.close()

    # ---- for whoever takes the records ----

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets, and no others; those that are read already go on where they are."""
        committed_only = self._config.isolation_level == READ_COMMITTED
        self._buffers = {
            partition: self._buffers.get(partition) or PartitionBuffer(offset, committed_only=committed_only)
            for partition, offset in offsets.items()
        }
        self._work.set()

    @property
    def assigned(self) -> dict[TopicPartition, PartitionBuffer]:
        return self._buffers

    def take(self, records_max: int) -> list[tuple[TopicPartition, list[Record]]]:
        """What is here, about `records_max` of it (whole batches), fairly from all partitions."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        taken: list[tuple[TopicPartition, list[Record]]] = []
        count = 0
        for partition in list(self._buffers):
            buffer = self._buffers[partition]
            while buffer and count < records_max:
                records = buffer.take()
                if records:
                    taken.append((partition, records))
                    count += len(records)
            if count >= records_max:
                self._buffers[partition] = self._buffers.pop(partition)  # the others come first next time
                break
        self._work.set()
        return taken

    async def wait(self, timeout_ms: float) -> None:
        """Until something arrived since the last `take`, or somebody called `wake`."""
        if not any(self._buffers.values()) and self._error is None:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._arrived.wait()
            except TimeoutError:
                return
        self._arrived.clear()

    def wake(self) -> None:
        self._arrived.set()

    # ---- fetching ----

    async def _run(self) -> None:
        while True:
            self._work.clear()
            for leader_id, wanted in (await self._due()).items():
                self._busy.add(leader_id)
                self._background.start(self._fetch(leader_id, wanted))
            try:
                async with asyncio.timeout((BACKOFF_MS if self._pausing else _IDLE_MS) / 1000):
                    await self._work.wait()
            except TimeoutError:
                continue

    async def _due(self) -> dict[int, dict[TopicPartition, PartitionBuffer]]:
        now_ms = self._cluster.world.monotonic_ms()
        self._pausing = {each: until for each, until in self._pausing.items() if until > now_ms}
        due: defaultdict[int, dict[TopicPartition, PartitionBuffer]] = defaultdict(dict)
        for partition, buffer in list(self._buffers.items()):
            if partition in self._pausing or buffer.held_bytes >= self._config.ahead_bytes:
                continue
            leader_id = await self._leader(partition)
            if leader_id is not None and leader_id not in self._busy and partition not in self._pausing:
                due[leader_id][partition] = buffer
        return due

    async def _leader(self, partition: TopicPartition) -> int | None:
        now_ms = self._cluster.world.monotonic_ms()
        leader_id = None
        try:
            topic = await self._cluster.topic(partition.topic)
            self._missing_since.pop(partition.topic, None)
            if partition.partition < len(topic.partitions):
                leader_id = topic.partitions[partition.partition].leader_id
        except Unreachable:
            for each in self._buffers:
                self._retry_later(each)
            return None
        except Refused as error:
            since_ms = self._missing_since.setdefault(partition.topic, now_ms)
            if not error.code.retriable or now_ms - since_ms > self._config.unknown_topic_timeout_ms:
                self._raise(error)
        if leader_id is None or leader_id == NO_LEADER:
            self._retry_later(partition)
            return None
        return leader_id

    async def _fetch(self, leader_id: int, wanted: dict[TopicPartition, PartitionBuffer]) -> None:
        offsets = {partition: buffer.fetch_offset for partition, buffer in wanted.items()}
        try:
            address = self._cluster.address(leader_id)
            if address is None:
                raise Unreachable(f"node {leader_id} is not known")
            asked, names = self._request(offsets)
            timeout_ms = self._config.max_wait_ms + self._config.request_timeout_ms
            answer: FetchResponse = await request(self._nodes, address, asked, timeout_ms=timeout_ms)
            if answer.error_code:
                raise Refused(answer.error_code, subject="fetch")
            for topic in answer.responses:
                for each in topic.partitions:
                    partition = TopicPartition(topic.topic or names.get(topic.topic_id, ""), each.partition_index)
                    if self._buffers.get(partition) is wanted.get(partition) is not None:
                        await self._take_in(partition, wanted[partition], each)
        except Unreachable:
            for partition in wanted:
                self._retry_later(partition)
        except KafkaError as error:
            for partition in wanted:
                self._retry_later(partition)
            if not isinstance(error, Refused) or not error.code.retriable:
                self._raise(error)
        finally:
            self._busy.discard(leader_id)
            self._work.set()

    def _request(self, offsets: Mapping[TopicPartition, int]) -> tuple[FetchRequest, dict[object, str]]:
        topics: dict[str, FetchTopic] = {}
        for (name, index), offset in offsets.items():
            known = self._cluster.known(name)
            if known is None:  # deleted just now
                continue
            topic = topics.setdefault(name, FetchTopic(topic=name, topic_id=known.topic_id))
            max_bytes = self._config.partition_max_bytes
            topic.partitions.append(FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes))
        asked = FetchRequest(
            max_wait_ms=self._config.max_wait_ms,
            min_bytes=self._config.min_bytes,
            max_bytes=self._config.max_bytes,
            isolation_level=self._config.isolation_level,
            session_epoch=_NO_SESSION_EPOCH,
            topics=list(topics.values()),
        )
        return asked, {topic.topic_id: name for name, topic in topics.items()}

    async def _take_in(self, partition: TopicPartition, buffer: PartitionBuffer, data: PartitionData) -> None:
        code = code_of(data.error_code)
        if code is ErrorCode.NONE:
            committed_only = self._config.isolation_level == READ_COMMITTED
            buffer.end_offset = data.last_stable_offset if committed_only else data.high_watermark
            before = buffer.fetch_offset
            if data.records is not None and len(data.records):
                buffer.add(data.records, data.aborted_transactions or ())
                if buffer.fetch_offset == before:
                    raise InvalidData(f"{partition}: no whole batch at offset {before}")
            self._arrived.set()
        elif code is ErrorCode.OFFSET_OUT_OF_RANGE and not buffer:
            await self._reset(partition, buffer)
        elif code is ErrorCode.OFFSET_OUT_OF_RANGE or code.retriable:
            self._retry_later(partition)
        else:
            raise Refused(code, subject=str(partition))

    async def _reset(self, partition: TopicPartition, buffer: PartitionBuffer) -> None:
        if self._config.reset_to is None:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {buffer.fetch_offset}", subject=str(partition))
        found = await find_offsets(self._cluster, {partition: self._config.reset_to})
        buffer.position = buffer.fetch_offset = found[partition]

    def _retry_later(self, partition: TopicPartition) -> None:
        self._cluster.forget(partition.topic)
        self._pausing[partition] = self._cluster.world.monotonic_ms() + BACKOFF_MS

    def _raise(self, error: KafkaError) -> None:
        """Whoever takes the next records hears of it."""
        self._error = error
        self._arrived.set()
