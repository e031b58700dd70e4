"""One cluster as its clients see it: a cache of its metadata, and requests to any node or to a certain one.

Retries only what finds nodes and topics; whether anything else may be sent again is its sender's decision.
"""

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from millstream_client.addresses import Address
from millstream_client.errors import NotLetIn, Refused, Unreachable
from millstream_client.metadata import Snapshot, Topic, snapshot_of
from millstream_runtime.nodes.client import ClientError, LoginFailed, Nodes
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.world import World
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.metadata import MetadataRequest, MetadataRequestTopic

REQUEST_TIMEOUT_MS = 30_000
METADATA_MAX_AGE_MS = 300_000
TOPIC_TIMEOUT_MS = 30_000
BACKOFF_MS = 100
BACKOFF_MAX_MS = 1_000


class Cluster:
    """Invariant: a cached topic is at most `metadata_max_age_ms` old when it is handed out."""

    def __init__(
        self,
        world: World,
        bootstrap: Sequence[Address],
        *,
        client_id: str = "millstream",
        metadata_max_age_ms: int = METADATA_MAX_AGE_MS,
        credentials: Credentials = PLAIN,
    ) -> None:
        self.world = world
        self.client_id = client_id
        self._bootstrap = list(bootstrap)
        self.credentials = credentials
        self._nodes = self.connections()
        self._metadata_max_age_ms = metadata_max_age_ms
        self._addresses: dict[int, Address] = {}
        self._topics: dict[str, Topic] = {}
        self._stale: set[str] = set()
        self._refreshing = asyncio.Lock()

    async def close(self) -> None:
        await self._nodes.close()

    def connections(self) -> Nodes:
        """For who needs connections of his own; close them."""
        return Nodes(self.world, client_id=self.client_id, credentials=self.credentials)

    # ---- metadata ----

    async def describe(self, names: Sequence[str] | None = None, *, create: bool = False) -> Snapshot:
        """Ask now: nodes, and the named topics or all of them; what comes is cached."""
        wanted = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        answer = await self.ask_any(request)
        snapshot = snapshot_of(answer, now_ms=self.world.monotonic_ms())
        self._addresses.update(snapshot.nodes)
        self._topics.update(snapshot.topics)
        self._stale -= snapshot.topics.keys()
        for name, error in snapshot.errors.items():
            if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._topics.pop(name, None)
                self._stale.discard(name)
        return snapshot

    async def topic(self, name: str, *, create: bool = False, timeout_ms: int = TOPIC_TIMEOUT_MS) -> Topic:
        """The topic, from the cache while it is fresh; raise Refused if there is none.

        With `create` a missing topic is waited for: brokers make it if they are set up to.
        """
        cached = self.cached(name)
        if cached is not None:
            return cached
        deadline_ms = self.world.monotonic_ms() + timeout_ms
        backoff = Backoff()
        while True:
            async with self._refreshing:
                found = self.cached(name) or await self._look_up(name, create=create)
            if isinstance(found, Topic):
                return found
            awaited = found is ErrorCode.LEADER_NOT_AVAILABLE or (create and found.retriable)
            if not awaited or self.world.monotonic_ms() > deadline_ms:
                raise Refused(found, subject=f"topic {name}")
            await backoff.wait()

    async def _look_up(self, name: str, *, create: bool) -> Topic | ErrorCode:
        snapshot = await self.describe([name], create=create)
        return snapshot.topics.get(name) or snapshot.errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def cached(self, name: str) -> Topic | None:
        """The topic, unless it has to be asked for anew."""
        topic = self._topics.get(name)
        if topic is None or name in self._stale or self._is_old(topic):
            return None
        return topic

    def known(self, name: str) -> Topic | None:
        """The topic as it was when somebody last saw it: good enough for its id and its number of partitions."""
        return self._topics.get(name)

    def forget(self, name: str) -> None:
        """Something said that what we know of this topic is no longer so."""
        self._stale.add(name)

    def _is_old(self, topic: Topic) -> bool:
        return self.world.monotonic_ms() - topic.known_ms > self._metadata_max_age_ms

    def address(self, node_id: int) -> Address | None:
        return self._addresses.get(node_id)

    # ---- requests ----

    async def ask(self, node_id: int, message: Any, *, timeout_ms: int = REQUEST_TIMEOUT_MS) -> Any:
        """Send to one node; raise Unreachable if no answer came."""
        address = self._addresses.get(node_id)
        if address is None:
            raise Unreachable(f"node {node_id} is not known")
        try:
            return await self.ask_at(address, message, timeout_ms=timeout_ms)
        except Unreachable as error:
            if address in self._bootstrap or isinstance(error, NotLetIn):
                raise
            # Who reached the bootstrap address and not this one often looks for the mistake at the wrong end.
            raise Unreachable(f"{error}; that is where node {node_id} says it is (its advertised.listeners)") from error

    async def ask_at(self, address: Address, message: Any, *, timeout_ms: int = REQUEST_TIMEOUT_MS) -> Any:
        return await request(self._nodes, address, message, timeout_ms=timeout_ms)

    async def tell(self, node_id: int, message: Any, *, timeout_ms: int = REQUEST_TIMEOUT_MS) -> None:
        """Send what is never answered."""
        address = self._addresses.get(node_id)
        if address is None:
            raise Unreachable(f"node {node_id} is not known")
        await send(self._nodes, address, message, timeout_ms=timeout_ms)

    async def ask_any(self, message: Any, *, timeout_ms: int = REQUEST_TIMEOUT_MS) -> Any:
        """Send to the first node that answers; only for what may be executed twice."""
        failures: list[Unreachable] = []
        for address in dict.fromkeys([*self._bootstrap, *self._addresses.values()]):
            try:
                return await request(self._nodes, address, message, timeout_ms=timeout_ms)
            except Unreachable as error:
                failures.append(error)
        raise failures[0]


class Backoff:
    """Waits that grow, up to a bound."""

    __slots__ = ("_next_ms",)

    def __init__(self) -> None:
        self._next_ms = BACKOFF_MS

    async def wait(self) -> None:
        await asyncio.sleep(self._next_ms / 1000)
        self._next_ms = min(2 * self._next_ms, BACKOFF_MAX_MS)

    def reset(self) -> None:
        self._next_ms = BACKOFF_MS


async def request(nodes: Nodes, address: Address, message: Any, *, timeout_ms: int) -> Any:
    """Nodes.request, with this client's own error."""
    host, port = address
    try:
        return await nodes.request(host, port, message, timeout_ms=timeout_ms)
    except (ClientError, OSError) as error:
        raise _unreachable(address, error) from error


async def send(nodes: Nodes, address: Address, message: Any, *, timeout_ms: int) -> None:
    """Nodes.send, with this client's own error."""
    try:
        await nodes.send(*address, message, timeout_ms=timeout_ms)
    except (ClientError, OSError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: Address, error: BaseException) -> Unreachable:
    """In one line for a person: where, and what the operating system said if it was its fault."""
    host, port = address
    text = str(error)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
            text = os.strerror(cause.errno)
        cause = cause.__cause__
    kind = NotLetIn if isinstance(error, LoginFailed) else Unreachable
    return kind(text if f"{host}:{port}" in text else f"{host}:{port}: {text}")
