"""Asks one leader for everything that this broker copies from it: one request at a time, each waiting for news (KIP-227, KIP-595).

Partitions are named by their topics' ids only: an answer about a topic that was created again under its name would be about
another log. While a request waits at the leader, partitions that turn up (just assigned, cut, or rested) are asked for on a
second connection, and join the others with the next request.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.follower import BACKOFF_FIRST_MS, FetchFrom
from millstream_broker.core.partition.follower_session import SESSION_ERRORS, Ask
from millstream_broker.core.reads.fetch_session import FINAL_EPOCH, NO_SESSION_ID
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.replication.asking import YIELD_BYTES, Asking
from millstream_broker.shell.replication.copying import Copying
from millstream_broker.shell.replication.followed import Followed
from millstream_broker.shell.replication.throttling import FollowerThrottling
from millstream_cluster.ids import NodeId
from millstream_runtime.nodes.client import Client, ClientError, Disconnected, Nodes
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchResponse

logger = logging.getLogger(__name__)

_LATE_WAIT_LEAST_MS: Final = 50
"""Where the leader is late with its answer, it is not asked on the other connection all the time."""


class Fetcher:
    """Connects to the leader, has `Asking` ask for as long as it answers, and rests where it does not."""

    def __init__(
        self,
        leader: int,
        broker: Broker,
        broker_epoch: Callable[[], int],
        copying: Copying,
        throttling: FollowerThrottling,
    ) -> None:
        self._leader = NodeId(leader)
        self._broker = broker
        self._world = broker.world
        self._asking = Asking(leader, broker, broker_epoch, copying, throttling)

    def add(self, followed: Followed) -> None:
        self._asking.add(followed)

    def remove(self, followed: Followed) -> None:
        self._asking.remove(followed)

    def on_changed(self, followed: Followed) -> None:
        """There may be another question to ask for it."""
        self._asking.on_changed(followed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ask_for_ever())
            tasks.create_task(self._ask_late_for_ever())

    # ---- the session ----

    async def _ask_for_ever(self) -> None:
        nodes = self._connections()
        asking, failures = self._asking, 0
        try:
            while True:
                if not asking.take_in():
                    asking.wake.clear()
                    await asking.wake.wait()
                    continue
                if await self._ask_session(nodes):
                    failures = 0
                    continue
                failures = 1 if asking.was_answered else failures + 1
                wait_ms = min(BACKOFF_FIRST_MS << min(failures - 1, 20), self._broker.config.replica_fetch_backoff_ms)
                await asyncio.sleep(wait_ms / 1000)
        finally:
            await nodes.close()

    async def _ask_session(self, nodes: Nodes) -> bool:
        """Ask for as long as there is something to ask and the leader answers; whether it did."""
        asking = self._asking
        asking.was_answered = False
        try:
            client, registered = await self._connected(nodes)
            version = client.common_version(ApiKey.FETCH)
            code = await asking.begin(client, version=version, client_id=client.client_id, registered=registered)
            return code is ErrorCode.NONE or code in SESSION_ERRORS
        except ClientError as error:
            asking.lost()
            self._tell_silence(error)
            return False
        finally:
            asking.end()

    # ---- who turned up meanwhile ----

    async def _ask_late_for_ever(self) -> None:
        nodes, asking = self._connections(), self._asking
        try:
            while True:
                await asking.wake_late.wait()
                asking.wake_late.clear()
                while asking.is_asking and (asked := asking.take_late()):
                    is_answered = await self._ask_late(nodes, asked)
                    asking.late_is_over(asked)
                    if not is_answered:
                        break  # the session's requests find out how long to wait
        finally:
            await nodes.close()

    async def _ask_late(self, nodes: Nodes, asked: Mapping[ReplicaKey, FetchFrom]) -> bool:
        """Ask without a session, and for no longer than the other request waits."""
        asking = self._asking
        wait_ms = max(_LATE_WAIT_LEAST_MS, asking.waits_until_ms - self._world.monotonic_ms())
        wait_ms = min(wait_ms, asking.longest_wait_ms)
        message = asking.message(Ask(NO_SESSION_ID, FINAL_EPOCH, asked, ()), wait_ms)
        try:
            client, _ = await self._connected(nodes)
            timeout_ms = wait_ms + self._broker.config.replica_socket_timeout_ms
            response: FetchResponse = await client.request(message, timeout_ms=timeout_ms)
        except ClientError as error:
            self._tell_silence(error)
            return False
        if asking.judge(response) is not ErrorCode.NONE:
            return False
        copied = 0
        for topic in response.responses:
            for data in topic.partitions:
                copied += asking.take(topic.topic_id, data, asked, asking.late)
                if copied >= YIELD_BYTES:
                    copied = 0
                    await asyncio.sleep(0)
        return True

    # ---- connections ----

    def _connections(self) -> Nodes:
        config = self._broker.config
        return Nodes(
            self._world,
            client_id=f"broker-{config.node_id}-replicas",
            node_id=NodeId(config.node_id),
            connections_max=1,
            credentials=config.security.nodes,
        )

    async def _connected(self, nodes: Nodes) -> tuple[Client, object]:
        """A connection to the leader, and the leader as it is registered there."""
        config = self._broker.config
        node = self._broker.image.node(self._leader)
        endpoint = None if node is None else node.endpoint(config.nodes_listener or "")
        if endpoint is None:
            raise Disconnected(f"node {self._leader} is not registered")
        timeout_ms = config.replica_fetch_wait_max_ms + config.replica_socket_timeout_ms
        return await nodes.connected(endpoint.host, endpoint.port, timeout_ms=timeout_ms), node

    def _tell_silence(self, error: ClientError) -> None:
        """Once until it answers again."""
        asking = self._asking
        if asking.is_silent:
            return
        if isinstance(error, Disconnected):
            self._broker.suspects.lost(self._leader)
        asking.is_silent = True
        node_id = self._broker.config.node_id
        logger.warning("leader does not answer broker=%d leader=%d reason=%s", node_id, self._leader, error)
