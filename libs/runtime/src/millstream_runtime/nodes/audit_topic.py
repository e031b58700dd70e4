"""Writes what the audit log says to a topic, for a process that is told so (`millstream.audit.topic`).

No request waits for it. A batch is tried again until its outcome is known to be final, so that a record may be there twice: its
node and number tell. Whatever goes wrong here is logged and counted, and makes no record itself.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from millstream_cluster.answers.topic_name import wrong_with_topic_name
from millstream_cluster.ids import COORDINATOR_TOPICS, METADATA_TOPIC
from millstream_cluster.image import Image
from millstream_runtime.exposition import Family, Kind
from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ProduceRequest, ProduceResponse
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records import Record, encode_batch

logger = logging.getLogger(__name__)

AUDIT_TOPIC = "millstream.audit.topic"
BATCH_RECORDS_MAX = 100
REQUEST_TIMEOUT_MS = 10_000
ALL_REPLICAS = -1
BACKOFF_FIRST_MS = 100
BACKOFF_MAX_MS = 5_000
SAID_AT_ATTEMPT = 5


def audit_topic_of(properties: Properties) -> str | None:
    """Raises PropertyError."""
    topic = properties.optional(AUDIT_TOPIC) or None
    if topic is not None and (wrong := wrong_with_topic_name(topic)):
        raise PropertyError(f"{AUDIT_TOPIC}: {wrong}")
    if topic == METADATA_TOPIC or topic in COORDINATOR_TOPICS:
        raise PropertyError(f"{AUDIT_TOPIC} must be a topic of its own, not {topic}")
    return topic


def nobody_makes_it(topic: str) -> None:
    """Brokers see to it that the topic is there."""


class AuditTopic:
    """One per process. `run` until cancelled; then what has not been written yet is in the log only."""

    def __init__(
        self,
        topic: str,
        nodes: Nodes,
        world: World,
        image: Callable[[], Image | None],
        *,
        want: Callable[[str], None] = nobody_makes_it,
    ) -> None:
        """`want` is asked for the topic where it is missing."""
        self._topic = topic
        self._nodes = nodes
        self._world = world
        self._image = image
        self._want = want

    async def run(self) -> None:
        self._world.metrics.register(self)
        try:
            await self._until_made()
            while True:
                await self._write(await self._world.audit_records.take(BATCH_RECORDS_MAX))
        finally:
            self._world.metrics.unregister(self)
            await self._nodes.close()

    def collect(self) -> Sequence[Family]:
        dropped = Family(Kind.COUNTER, "millstream_audit_records_dropped", "Audit records that the topic never got.")
        dropped.add(self._world.audit_records.dropped)
        return [dropped]

    async def _until_made(self) -> None:
        attempt = 0
        while self._partitions() == 0:
            self._want(self._topic)
            attempt = await self._back_off(attempt, "the topic is not there")

    async def _write(self, records: list[Record]) -> None:
        """Once it returns they are written, or counted as dropped."""
        batch, attempt = encode_batch(records), 0
        while True:
            code, reason = await self._append(batch)
            if code is ErrorCode.NONE:
                return
            if code is ErrorCode.MESSAGE_TOO_LARGE and len(records) > 1:
                for record in records:
                    await self._write([record])
                return
            if not code.retriable:
                logger.warning("audit records dropped topic=%s count=%d reason=%s", self._topic, len(records), reason)
                self._world.audit_records.drop(len(records))
                return
            attempt = await self._back_off(attempt, reason)

    async def _append(self, batch: bytes) -> tuple[ErrorCode, str]:
        image, partitions = self._image(), self._partitions()
        topic = image.topic(self._topic) if image is not None else None
        if image is None or topic is None:
            self._want(self._topic)
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic is not there"
        index = self._world.random.randrange(partitions)
        node = image.node(topic.partitions[index].leader)
        endpoint = node.endpoint("") if node is not None else None
        if endpoint is None:
            return ErrorCode.LEADER_NOT_AVAILABLE, f"nobody leads partition {index}"
        data = PartitionProduceData(index=index, records=batch)
        request = ProduceRequest(
            acks=ALL_REPLICAS,
            timeout_ms=REQUEST_TIMEOUT_MS,
            topic_data=[TopicProduceData(name=self._topic, topic_id=topic.topic_id, partition_data=[data])],
        )
        try:
            answer: ProduceResponse = await self._nodes.request(
                endpoint.host, endpoint.port, request, timeout_ms=2 * REQUEST_TIMEOUT_MS
            )
        except ClientError as error:
            return ErrorCode.NETWORK_EXCEPTION, str(error)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        return code, code.name

    def _partitions(self) -> int:
        image = self._image()
        topic = image.topic(self._topic) if image is not None else None
        return len(topic.partitions) if topic is not None else 0

    async def _back_off(self, attempt: int, reason: str) -> int:
        if attempt == SAID_AT_ATTEMPT:
            logger.warning("audit records wait topic=%s reason=%s", self._topic, reason)
        delay_ms = min(BACKOFF_FIRST_MS << min(attempt, 6), BACKOFF_MAX_MS) * self._world.random.uniform(0.5, 1.0)
        await asyncio.sleep(delay_ms / 1000)
        return attempt + 1
