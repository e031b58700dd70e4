"""Asks the controller for topics that somebody needs and that do not exist: automatic creation and coordinators' topics.

Nobody waits for it: clients ask again. Names wait in a bounded set; one request is under way at a time.
"""

import asyncio
import logging

from millstream_broker.config import BrokerConfig
from millstream_cluster.ids import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateTopicsRequest, CreateTopicsResponse
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig

logger = logging.getLogger(__name__)

WAITING_MAX = 1_000


class TopicCreation:
    def __init__(self, config: BrokerConfig, controllers: ControllerLink) -> None:
        self._config = config
        self._controllers = controllers
        self._wanted: dict[str, None] = {}
        self._wake = asyncio.Event()
        self.enabled = False
        """Set once the metadata is known: before that every topic seems to be missing."""

    @property
    def wanted(self) -> list[str]:
        return list(self._wanted)

    def want(self, name: str) -> None:
        """Ask for a topic; beyond the bound nothing is noted, its client will ask again."""
        if self.enabled and len(self._wanted) < WAITING_MAX:
            self._wanted[name] = None
            self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            names = list(self._wanted)
            try:
                await self._create(names)
            except ClientError as error:
                logger.warning("topics not created names=%s reason=%s", ",".join(names), error)
            for name in names:
                self._wanted.pop(name, None)

    async def _create(self, names: list[str]) -> None:
        request = CreateTopicsRequest(
            topics=[self._topic(name) for name in names], timeout_ms=self._config.request_timeout_ms
        )
        answer = await self._controllers.request(request, timeout_ms=self._config.request_timeout_ms)
        assert isinstance(answer, CreateTopicsResponse)
        for topic in answer.topics:
            if topic.error_code == ErrorCode.NONE:
                logger.info("topic created automatically topic=%s partitions=%d", topic.name, topic.num_partitions)
            elif topic.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
                code = ErrorCode(topic.error_code).name
                logger.warning("topic not created topic=%s error=%s %s", topic.name, code, topic.error_message)

    def _topic(self, name: str) -> CreatableTopic:
        config = self._config
        partitions, factor = config.num_partitions, config.default_replication_factor
        settings: dict[str, str] = {}
        if name == OFFSETS_TOPIC:
            partitions, factor = config.offsets_topic_partitions, config.offsets_topic_replication_factor
            settings = _compacted(config.offsets_topic_segment_bytes)
        elif name == TRANSACTIONS_TOPIC:
            partitions, factor = config.transactions_topic_partitions, config.transactions_topic_replication_factor
            settings = _compacted(config.transactions_topic_segment_bytes)
        elif name == SHARE_STATE_TOPIC:
            partitions, factor = config.share_state_topic_partitions, config.share_state_topic_replication_factor
            settings = _compacted(config.share_state_topic_segment_bytes)
        return CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
        )


def _compacted(segment_bytes: int) -> dict[str, str]:
    return {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": str(segment_bytes)}
