"""Asks one leader for everything that this broker copies from it: one request at a time, each waiting for news (KIP-227, KIP-595).

Partitions are named by their topics' ids only: an answer about a topic that was created again under its name would be about
another log. While a request waits at the leader, partitions that turn up (just assigned, cut, or rested) are asked for on a
second connection, and join the others with the next request.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.follower import BACKOFF_FIRST_MS, FetchFrom
from millstream_broker.core.partition.follower_session import SESSION_ERRORS, Ask, FollowerSession
from millstream_broker.core.reads.fetch_session import FINAL_EPOCH, NO_SESSION_ID
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.replication.copying import Copying
from millstream_broker.shell.replication.followed import Followed
from millstream_broker.shell.replication.throttling import FollowerThrottling
from millstream_cluster.ids import NodeId
from millstream_runtime.nodes.client import ClientError, Disconnected, Nodes
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest, FetchResponse
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic, ReplicaState

logger = logging.getLogger(__name__)

_LATE_WAIT_LEAST_MS: Final = 50
"""Where the leader is late with its answer, it is not asked on the other connection all the time."""
_YIELD_BYTES: Final = 256 * 1024
"""After so much was copied others get the event loop."""


class Fetcher:
    """Invariant: each followed partition is in at most one request that is under way."""

    def __init__(
        self,
        leader: int,
        broker: Broker,
        broker_epoch: Callable[[], int],
        copying: Copying,
        throttling: FollowerThrottling,
    ) -> None:
        self._leader = leader
        self._broker = broker
        self._world = broker.world
        self._broker_epoch = broker_epoch
        self._copying = copying
        self._throttling = throttling
        self._followed: dict[ReplicaKey, Followed] = {}
        self._changed: dict[ReplicaKey, None] = {}
        """Whose question may differ from what the session has."""
        self._session = FollowerSession()
        self._in_session: dict[ReplicaKey, Followed] = {}
        """Whose questions those of the session are."""
        self._is_asking = False
        """A request of the session is under way."""
        self._waits_until_ms = 0
        """Until then, if it is."""
        self._late: dict[ReplicaKey, Followed] = {}
        """Who is in the request on the second connection."""
        self._wake = asyncio.Event()
        self._wake_late = asyncio.Event()
        self._is_silent = False

    def add(self, followed: Followed) -> None:
        self._followed[followed.replica.key] = followed
        self.on_changed(followed)

    def remove(self, followed: Followed) -> None:
        if self._followed.get(followed.replica.key) is followed:
            del self._followed[followed.replica.key]
            self._changed[followed.replica.key] = None

    def on_changed(self, followed: Followed) -> None:
        """There may be another question to ask for it."""
        if followed.is_over:
            return
        key = followed.replica.key
        self._changed[key] = None
        if followed.question() is None:
            return
        if not self._is_asking:
            self._wake.set()
        elif self._in_session.get(key) is not followed:
            self._wake_late.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ask_for_ever())
            tasks.create_task(self._ask_late_for_ever())

    # ---- the session ----

    async def _ask_for_ever(self) -> None:
        nodes = self._connections()
        failures = 0
        try:
            while True:
                ask = self._next()
                if not self._session.questions:
                    self._session.begin_again()  # what was to be forgotten has not been said
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                failures = 0 if await self._ask_session(nodes, ask) else failures + 1
                if failures:
                    wait_ms = min(
                        BACKOFF_FIRST_MS << min(failures - 1, 20), self._broker.config.replica_fetch_backoff_ms
                    )
                    await asyncio.sleep(wait_ms / 1000)
        finally:
            await nodes.close()

    def _next(self) -> Ask:
        """Take what is new into the session; who is in the other request waits for its answer first."""
        questions: dict[ReplicaKey, FetchFrom | None] = {}
        for key in self._changed:
            followed = self._followed.get(key)
            question = None if followed is None or key in self._late else self._throttling.question(followed)
            questions[key] = question
            if followed is None or question is None:
                self._in_session.pop(key, None)
            else:
                self._in_session[key] = followed
        self._changed.clear()
        return self._session.next(questions)

    async def _ask_session(self, nodes: Nodes, ask: Ask) -> bool:
        """Ask, and take the answer; return whether there was one."""
        wait_ms = self._broker.config.replica_fetch_wait_max_ms
        self._waits_until_ms = self._world.monotonic_ms() + wait_ms
        self._is_asking = True
        try:
            response = await self._request(nodes, self._message(ask, wait_ms), wait_ms)
            code = ErrorCode.NONE if response is None else ErrorCode(response.error_code)
            if response is None or code is not ErrorCode.NONE:
                self._session.begin_again()
                return response is not None and code in SESSION_ERRORS
            self._session.on_answer(code, response.session_id)
            await self._take(response, self._session.questions, self._in_session)
            return True
        finally:
            self._is_asking = False

    # ---- who turned up meanwhile ----

    async def _ask_late_for_ever(self) -> None:
        nodes = self._connections()
        try:
            while True:
                await self._wake_late.wait()
                self._wake_late.clear()
                while self._is_asking and (asked := self._take_late()):
                    is_answered = await self._ask_late(nodes, asked)
                    self._late.clear()
                    self._changed.update(dict.fromkeys(asked))
                    self._wake.set()
                    if not is_answered:
                        break  # the session's requests find out how long to wait
        finally:
            await nodes.close()

    def _take_late(self) -> dict[ReplicaKey, FetchFrom]:
        asked = {}
        for key in self._changed:
            followed = self._followed.get(key)
            if followed is None or self._in_session.get(key) is followed:
                continue
            question = self._throttling.question(followed)
            if question is not None:
                asked[key] = question
                self._late[key] = followed
        return asked

    async def _ask_late(self, nodes: Nodes, asked: Mapping[ReplicaKey, FetchFrom]) -> bool:
        """Ask without a session, and for no longer than the other request waits."""
        wait_ms = max(_LATE_WAIT_LEAST_MS, self._waits_until_ms - self._world.monotonic_ms())
        response = await self._request(
            nodes, self._message(Ask(NO_SESSION_ID, FINAL_EPOCH, asked, ()), wait_ms), wait_ms
        )
        if response is None or response.error_code != ErrorCode.NONE:
            return False
        await self._take(response, asked, self._late)
        return True

    # ---- requests and answers ----

    def _connections(self) -> Nodes:
        config = self._broker.config
        return Nodes(
            self._world,
            client_id=f"broker-{config.node_id}-replicas",
            node_id=NodeId(config.node_id),
            connections_max=1,
            credentials=config.security.nodes,
        )

    async def _request(self, nodes: Nodes, message: FetchRequest, wait_ms: int) -> FetchResponse | None:
        config = self._broker.config
        node = self._broker.image.node(NodeId(self._leader))
        endpoint = None if node is None else node.endpoint(config.nodes_listener or "")
        try:
            if endpoint is None:
                raise Disconnected(f"node {self._leader} is not registered")
            response: FetchResponse = await nodes.request(
                endpoint.host, endpoint.port, message, timeout_ms=wait_ms + config.replica_socket_timeout_ms
            )
        except ClientError as error:
            if isinstance(error, Disconnected) and not self._is_silent:
                self._broker.suspects.lost(self._leader)
            if not self._is_silent:
                self._is_silent = True
                logger.warning(
                    "leader does not answer broker=%d leader=%d reason=%s", config.node_id, self._leader, error
                )
            return None
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE and code not in SESSION_ERRORS:
            logger.warning("leader refuses broker=%d leader=%d error=%s", config.node_id, self._leader, code.name)
        elif self._is_silent:
            self._is_silent = False
            logger.info("leader answers again broker=%d leader=%d", config.node_id, self._leader)
        return response

    def _message(self, ask: Ask, wait_ms: int) -> FetchRequest:
        config = self._broker.config
        topics: dict[UUID, FetchTopic] = {}
        for (topic_id, index), question in ask.questions.items():
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition=index,
                    current_leader_epoch=question.leader_epoch,
                    fetch_offset=question.offset,
                    last_fetched_epoch=question.last_fetched_epoch,
                    log_start_offset=question.log_start_offset,
                    cannot_append=question.cannot_append,
                    partition_max_bytes=config.replica_fetch_max_bytes,
                )
            )
        forgotten: dict[UUID, ForgottenTopic] = {}
        for topic_id, index in ask.forgotten:
            forgotten.setdefault(topic_id, ForgottenTopic(topic_id=topic_id)).partitions.append(index)
        return FetchRequest(
            replica_state=ReplicaState(replica_id=config.node_id, replica_epoch=self._broker_epoch()),
            max_wait_ms=wait_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=ask.session_id,
            session_epoch=ask.session_epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(forgotten.values()),
        )

    async def _take(
        self, response: FetchResponse, asked: Mapping[ReplicaKey, FetchFrom], asked_for: Mapping[ReplicaKey, Followed]
    ) -> None:
        """Give each partition its part of the answer, unless it is followed differently by now."""
        copied = 0
        for topic in response.responses:
            for data in topic.partitions:
                key = (topic.topic_id, data.partition_index)
                followed, question = asked_for.get(key), asked.get(key)
                if followed is None or question is None or followed.is_over:
                    continue
                size = self._copying.take(followed, question, data)
                self._throttling.took(followed, size, data.high_watermark)
                copied += size
                if copied >= _YIELD_BYTES:
                    copied = 0
                    await asyncio.sleep(0)
