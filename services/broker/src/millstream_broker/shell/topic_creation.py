"""Asks the controller for topics that somebody needs and that do not exist: automatic creation and coordinators' topics.

Nobody waits for it: clients ask again. Names wait in a bounded set; one request is under way at a time. What a client's Metadata
asks for is created in that client's name, so that its quota of mutations holds, and the audit log names it.
"""

import asyncio
import logging
from dataclasses import replace

from millstream_broker.config import BrokerConfig
from millstream_runtime.nodes.client import ClientError
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.serving.context import RequestContext, ignore_mute
from millstream_runtime.serving.peer import ClientPeer
from millstream_wire.api import API, ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import CreateTopicsRequest, CreateTopicsResponse
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig

logger = logging.getLogger(__name__)

WAITING_MAX = 1_000
_COMES_AGAIN = (ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
"""Not worth a line: it is there, or its client asks again and again until its quota allows it."""


class TopicCreation:
    def __init__(self, config: BrokerConfig, controllers: ControllerLink) -> None:
        self._config = config
        self._controllers = controllers
        self._wanted: dict[str, RequestContext | None] = {}
        self._wake = asyncio.Event()
        self.enabled = False
        """Set once the metadata is known: before that every topic seems to be missing."""

    @property
    def wanted(self) -> list[str]:
        return list(self._wanted)

    def want(self, name: str, *, asked_by: RequestContext | None = None) -> None:
        """Ask for a topic; beyond the bound nothing is noted, its client will ask again."""
        if self.enabled and len(self._wanted) < WAITING_MAX:
            self._wanted.setdefault(name, None if asked_by is None else _in_its_name(asked_by))
            self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            by_asker: dict[tuple[object, ...], tuple[RequestContext | None, list[str]]] = {}
            for name, asker in self._wanted.items():
                who = (None,) if asker is None else (asker.peer, asker.client_id, asker.host)
                by_asker.setdefault(who, (asker, []))[1].append(name)
            for asker, names in by_asker.values():
                try:
                    await self._create(names, asker)
                except ClientError as error:
                    logger.warning("topics not created names=%s reason=%s", ",".join(names), error)
                for name in names:
                    self._wanted.pop(name, None)

    async def _create(self, names: list[str], asker: RequestContext | None) -> None:
        request = CreateTopicsRequest(
            topics=[self._topic(name) for name in names], timeout_ms=self._config.request_timeout_ms
        )
        timeout_ms = self._config.request_timeout_ms
        if asker is None:
            answer = await self._controllers.request(request, timeout_ms=timeout_ms)
        else:
            answer = await self._controllers.forward_part(request, asker, timeout_ms=timeout_ms)
        assert isinstance(answer, CreateTopicsResponse)
        for topic in answer.topics:
            if topic.error_code == ErrorCode.NONE:
                logger.info("topic created automatically topic=%s partitions=%d", topic.name, topic.num_partitions)
            elif topic.error_code not in _COMES_AGAIN:
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


def _in_its_name(context: RequestContext) -> RequestContext | None:
    """As if the client had asked for the topic itself; None for a node. It has had its answer, so it is not made to wait."""
    if not isinstance(context.peer, ClientPeer):
        return None
    version = API[ApiKey.CREATE_TOPICS].versions[1]
    connection = replace(context.connection, state={}, at_close=[], mute=ignore_mute)
    return RequestContext(ApiKey.CREATE_TOPICS, version, 0, context.client_id, b"", connection, context.received_at_ms)
