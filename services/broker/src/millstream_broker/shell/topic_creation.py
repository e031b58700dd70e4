"""Asks the controller for topics that somebody needs and that do not exist: automatic creation and coordinators' topics.

Nobody waits for it: clients ask again. Names wait in a bounded set; one request is under way at a time.
"""

import asyncio
import logging

from millstream_broker.config import BrokerConfig
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
        own = self._config.coordinator_topics.of(name)
        partitions = own.partitions if own is not None else self._config.num_partitions
        factor = own.replication_factor if own is not None else self._config.default_replication_factor
        settings = own.configs if own is not None else {}
        return CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
        )
