"""Has a coordinators' topic created when somebody first needs it. Nobody waits for that: clients ask again."""

import asyncio
import logging

from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateTopicsRequest, CreateTopicsResponse
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig

logger = logging.getLogger(__name__)


class TopicCreation:
    def __init__(self, config: CoordinatorConfig, controllers: ControllerLink) -> None:
        self._config = config
        self._controllers = controllers
        self._wanted: set[str] = set()
        self._wake = asyncio.Event()

    def want(self, topic: str) -> None:
        """Ask for one of the coordinators' topics."""
        self._wanted.add(topic)
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            for name in sorted(self._wanted):
                try:
                    await self._create(name)
                except ClientError as error:
                    logger.warning("topic not created topic=%s reason=%s", name, error)
                self._wanted.discard(name)

    async def _create(self, name: str) -> None:
        topic = self._topic(name)
        timeout_ms = self._config.request_timeout_ms
        answer = await self._controllers.request(
            CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms), timeout_ms=timeout_ms
        )
        assert isinstance(answer, CreateTopicsResponse)
        (result,) = answer.topics
        if result.error_code == ErrorCode.NONE:
            logger.info("topic created topic=%s partitions=%d", name, topic.num_partitions)
        elif result.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            error = ErrorCode(result.error_code).name
            logger.warning("topic not created topic=%s error=%s %s", name, error, result.error_message)

    def _topic(self, name: str) -> CreatableTopic:
        own = self._config.coordinator_topics.of(name)
        assert own is not None, "only the coordinators' own topics are asked for here"
        return CreatableTopic(
            name=name,
            num_partitions=own.partitions,
            replication_factor=own.replication_factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in own.configs.items()],
        )
