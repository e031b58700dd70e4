"""Has `__consumer_offsets` created when the first group needs it. Nobody waits for that: clients ask again."""

import asyncio
import logging

from millstream_cluster.ids import OFFSETS_TOPIC
from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.client import ClientError
from millstream_runtime.controllers import ControllerLink
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateTopicsRequest, CreateTopicsResponse
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig

logger = logging.getLogger(__name__)


class OffsetsTopic:
    def __init__(self, config: CoordinatorConfig, controllers: ControllerLink) -> None:
        self._config = config
        self._controllers = controllers
        self._wanted = asyncio.Event()

    def want(self) -> None:
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            try:
                await self._create()
            except ClientError as error:
                logger.warning("topic not created topic=%s reason=%s", OFFSETS_TOPIC, error)
            self._wanted.clear()

    async def _create(self) -> None:
        config = self._config
        settings = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        }
        topic = CreatableTopic(
            name=OFFSETS_TOPIC,
            num_partitions=config.offsets_topic_partitions,
            replication_factor=config.offsets_topic_replication_factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
        )
        timeout_ms = config.request_timeout_ms
        answer = await self._controllers.request(
            CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms), timeout_ms=timeout_ms
        )
        assert isinstance(answer, CreateTopicsResponse)
        (result,) = answer.topics
        if result.error_code == ErrorCode.NONE:
            logger.info("topic created topic=%s partitions=%d", OFFSETS_TOPIC, config.offsets_topic_partitions)
        elif result.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            error = ErrorCode(result.error_code).name
            logger.warning("topic not created topic=%s error=%s %s", OFFSETS_TOPIC, error, result.error_message)
