"""Connections to other nodes: one pipelined connection (`Client`) and a bounded pool of them (`Nodes`).

A client sends requests in order and matches replies by correlation id. It does not retry: that is its user's decision.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from millstream_cluster.ids import NO_NODE, NodeId
from millstream_runtime import VERSION
from millstream_runtime.network.channel import Channel
from millstream_runtime.network.frames import Frame, Part
from millstream_runtime.network.links import DEFAULT_LIMITS, TO_NODES
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.nodes.pipeline import Asker, Pipeline
from millstream_runtime.serving.peer import SOFTWARE_NAME
from millstream_runtime.world import World
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import DecodeError, decode, encode_parts
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, decode_response_header, encode_request_header
from millstream_wire.messages import ApiVersionsRequest, EnvelopeRequest, EnvelopeResponse
from millstream_wire.schema import Request

if TYPE_CHECKING:
    from millstream_security.sasl.login import Login

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_MS = 10_000
RETIRES_AFTER = 0.85
"""Of the time that a login lasts: Kafka's clients log in again by then."""
_HELLO_VERSION = 4
"""Of ApiVersions: what the oldest release knows that may be in one cluster with this one."""
_CORRELATION = slice(4, 8)  # of a request's bytes: after the API key and version
_CORRELATION_BYTES = 4


class ClientError(Exception):
    """A request that got no answer."""


class Disconnected(ClientError):
    """The connection could not be made or broke; whether the request was executed is unknown."""


class NobodyListens(Disconnected):
    """The host answers that no process has that port: whoever was there has stopped or died."""


class RequestTimedOut(ClientError):
    """No answer in time; whether the request was executed is unknown. The connection is closed."""


class LoginFailed(Disconnected):
    """The server does not take our credentials, or we do not believe that it is ours."""


class VersionNotSupported(ClientError):
    """The node and we have no common version of this API."""


class ForwardingRefused(ClientError):
    """The node does not handle this request in a client's name: it was not executed."""

    def __init__(self, code: ErrorCode, node: str) -> None:
        super().__init__(f"{node}: not forwarded: {code.name}")
        self.code = code


class _Asked(Asker):
    """A request of which a future has the answer; `version` is None for one that is forwarded and not ours to read."""

    def __init__(self, client: "Client", api_key: int, version: int | None) -> None:
        self._client = client
        self._api_key = api_key
        self._version = version
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def on_answer(self, frame: Frame) -> None:
        if self.answer.done():  # who asked has gone away
            return
        if self._version is None:
            self.answer.set_result(bytes(frame[_CORRELATION_BYTES:]))
            return
        owned = bytes(frame)
        try:
            _, position = decode_response_header(self._api_key, self._version, owned)
            response = API[ApiKey(self._api_key)].response
            self.answer.set_result(decode(response, self._version, memoryview(owned)[position:]))
        except DecodeError as error:
            self.answer.set_exception(Disconnected(f"{self._client.peer}: {error}"))
            self._client.drop(str(error))

    def on_no_answer(self, reason: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(Disconnected(f"{self._client.peer}: {reason}"))


class Client(Pipeline):
    """One connection; requests are pipelined and answered in order."""

    def __init__(self, channel: Channel, client_id: str, node_id: NodeId) -> None:
        super().__init__(channel)
        self.client_id = client_id
        self._node_id = node_id
        self._versions: dict[int, tuple[int, int]] = {}
        self.when_closed: Callable[[], None] | None = None

    @classmethod
    async def connect(
        cls,
        world: World,
        host: str,
        port: int,
        *,
        client_id: str,
        node_id: NodeId = NO_NODE,
        credentials: Credentials = PLAIN,
    ) -> "Client":
        """Connect, introduce ourselves by ApiVersions (as a node if we are one), or raise Disconnected."""
        made: list[Client] = []

        def use(channel: Channel) -> Client:
            made.append(cls(channel, client_id, node_id))
            return made[0]

        bound = world.own_addresses.get((host, port), (host, port))
        wrap = credentials.wrap(world.own_names.get(bound, host))
        limits = DEFAULT_LIMITS if node_id == NO_NODE else TO_NODES
        try:
            await world.network.connect(*bound, use, limits=limits, wrap=wrap)
        except ConnectionRefusedError as error:
            raise NobodyListens(f"{host}:{port}: {error.strerror or error}") from error
        except OSError as error:
            raise Disconnected(f"{host}:{port}: {error.strerror or error}") from error
        client = made[0]
        try:
            await client._agree_on_versions()
            if credentials.login is not None:
                await client._log_in(credentials.login, world)
        except BaseException:
            await client.close()
            raise
        return client

    def offers(self, key: ApiKey) -> bool:
        """Whether the node's ApiVersions named this API."""
        return key in self._versions

    async def request(self, message: Any, *, timeout_ms: int, version: int | None = None) -> Any:
        """Send a request message, wait for its response message; the highest common version unless one is given.

        Record fields of the message may hold any Part; those of the response are views that own their bytes.
        """
        key = ApiKey(message.api_key)
        if version is None:
            version = self.common_version(key)
        header = RequestHeader(api_key=key, version=version, correlation_id=self.next_id(), client_id=self.client_id)
        body = cast(list[Part], encode_parts(message, version))
        return await self._send(header, version, [encode_request_header(header), *body], timeout_ms)

    def send(self, message: Any) -> None:
        """Send a request that is never answered: Produce with acks=0."""
        if self.closed_reason is not None:
            raise Disconnected(f"{self._channel.peer}: {self.closed_reason}")
        key = ApiKey(message.api_key)
        version = self.common_version(key)
        header = RequestHeader(api_key=key, version=version, correlation_id=self.next_id(), client_id=self.client_id)
        self._channel.send([encode_request_header(header), *cast(list[Part], encode_parts(message, version))])

    async def forward(self, frame: bytes | memoryview, *, timeout_ms: int) -> bytes:
        """Send a whole request (header and body) under a correlation id of our own; return what follows it in the answer."""
        renumbered = bytearray(frame)
        header = RequestHeader(
            api_key=int.from_bytes(renumbered[:2], "big", signed=True), version=-1, correlation_id=self.next_id()
        )
        renumbered[_CORRELATION] = header.correlation_id.to_bytes(_CORRELATION_BYTES, "big")
        return cast(bytes, await self._send(header, None, [renumbered], timeout_ms))

    async def close(self) -> None:
        self._channel.close()
        self.on_closed("closed here")

    def on_closed(self, reason: str) -> None:
        super().on_closed(reason)
        when_closed, self.when_closed = self.when_closed, None
        if when_closed is not None:
            when_closed()

    async def _send(self, header: RequestHeader, version: int | None, parts: Sequence[Part], timeout_ms: int) -> Any:
        if self.closed_reason is not None:
            raise Disconnected(f"{self._channel.peer}: {self.closed_reason}")
        asked = _Asked(self, header.api_key, version)
        self.ask(header.correlation_id, parts, asked)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await asked.answer
        except TimeoutError:
            self.drop("no answer in time")
            raise RequestTimedOut(f"{self._channel.peer}: no answer in {timeout_ms} ms") from None

    async def _agree_on_versions(self) -> None:
        hello = ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=VERSION, sender_node_id=self._node_id
        )
        answer = await self.request(hello, timeout_ms=CONNECT_TIMEOUT_MS, version=_HELLO_VERSION)
        if answer.error_code != ErrorCode.NONE:
            raise Disconnected(f"{self._channel.peer}: ApiVersions error {answer.error_code}")
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    async def _log_in(self, login: "Login", world: World) -> None:
        from millstream_runtime.nodes.login import log_in  # what nobody needs where nobody logs in

        lifetime_ms = await log_in(self, login, world, timeout_ms=CONNECT_TIMEOUT_MS)
        if lifetime_ms:
            self.retires_at_ms = world.monotonic_ms() + int(lifetime_ms * RETIRES_AFTER)

    def common_version(self, key: ApiKey) -> int:
        """The highest that both sides speak."""
        # What only nodes of a cluster send is not advertised: they run the same release or one near it.
        ours = API[key].versions
        theirs = self._versions.get(key, ours)
        version = min(ours[1], theirs[1])
        if version < max(ours[0], theirs[0]):
            spoken = f"{API[key].name} in versions {theirs[0]} to {theirs[1]}, not in {ours[0]} to {ours[1]}"
            raise VersionNotSupported(
                f"{self._channel.peer} speaks {spoken}: {'it' if theirs[1] < ours[0] else 'this program'} is of too old a release"
            )
        return version


def nothing(host: str, port: int) -> None:
    """For who finds out with its next request."""


class Nodes:
    """Clients by address: connects on first use, forgets broken ones; the least recently used ones beyond the bound close."""

    def __init__(
        self,
        world: World,
        *,
        client_id: str,
        node_id: NodeId = NO_NODE,
        connections_max: int = 1000,
        credentials: Credentials = PLAIN,
    ) -> None:
        """`node_id`: who we are to the others, if we are a node."""
        self.on_lost: Callable[[str, int], None] = nothing
        """Called when a connection breaks, also one on which nothing is awaited."""
        self._world = world
        self._client_id = client_id
        self._node_id = node_id
        self._credentials = credentials
        self._connections_max = connections_max
        self._clients: OrderedDict[tuple[str, int], Client] = OrderedDict()
        self._connecting: dict[tuple[str, int], asyncio.Task[Client]] = {}
        self._refused_by: set[tuple[str, int]] = set()

    async def connected(self, host: str, port: int, *, timeout_ms: int) -> Client:
        """A connection for who sends more than one request on it, and looks before each whether it is closed, or retires."""
        return (await self._client(host, port, timeout_ms))[0]

    async def request(
        self, host: str, port: int, message: Request[Any], *, timeout_ms: int, version: int | None = None
    ) -> Any:
        """As Client.request; the timeout covers connecting too."""
        client, left_ms = await self._client(host, port, timeout_ms)
        return await client.request(message, timeout_ms=left_ms, version=version)

    async def send(self, host: str, port: int, message: Request[Any], *, timeout_ms: int) -> None:
        """As Client.send; the timeout is for connecting."""
        client, _ = await self._client(host, port, timeout_ms)
        client.send(message)

    async def forward(
        self,
        host: str,
        port: int,
        frame: bytes | memoryview,
        *,
        timeout_ms: int,
        envelope: EnvelopeRequest | None = None,
    ) -> bytes:
        """As Client.forward; around the frame goes this envelope, if there is one and the node opens envelopes."""
        client, left_ms = await self._client(host, port, timeout_ms)
        if envelope is not None and envelope.must_be_authorized and not client.offers(ApiKey.ENVELOPE):
            raise ForwardingRefused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, f"{host}:{port}")
        if envelope is None or not client.offers(ApiKey.ENVELOPE):
            return await client.forward(frame, timeout_ms=left_ms)
        answer: EnvelopeResponse = await client.request(envelope, timeout_ms=left_ms)
        if answer.error_code != ErrorCode.NONE or answer.response_data is None:
            raise ForwardingRefused(ErrorCode(answer.error_code), f"{host}:{port}")
        return bytes(answer.response_data[_CORRELATION_BYTES:])

    async def close(self) -> None:
        connecting = list(self._connecting.values())
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.close()

    async def _client(self, host: str, port: int, timeout_ms: int) -> tuple[Client, int]:
        """A connected client and what is left of the time."""
        address = (host, port)
        client = self._clients.get(address)
        if client is not None and not client.closed:
            if not client.retires(self._world.monotonic_ms()):
                self._clients.move_to_end(address)
                return client, timeout_ms
            del self._clients[address]
            client.close_when_idle()
        started_ms = self._world.monotonic_ms()
        connecting = self._connecting.get(address)
        if connecting is None:
            connecting = asyncio.get_running_loop().create_task(self._connect(address))
            self._connecting[address] = connecting
            connecting.add_done_callback(lambda done: self._connected(address, done))
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                client = await asyncio.shield(connecting)
        except TimeoutError:
            raise RequestTimedOut(f"{host}:{port}: not connected in {timeout_ms} ms") from None
        return client, max(1, timeout_ms - (self._world.monotonic_ms() - started_ms))

    async def _connect(self, address: tuple[str, int]) -> Client:
        try:
            client = await Client.connect(
                self._world,
                *address,
                client_id=self._client_id,
                node_id=self._node_id,
                credentials=self._credentials,
            )
        except LoginFailed as error:
            self._warn(address, error)
            raise
        self._refused_by.discard(address)
        self._clients[address] = client
        client.when_closed = lambda: self._closed(address, client)
        self._clients.move_to_end(address)
        if len(self._clients) > self._connections_max:
            _, oldest = self._clients.popitem(last=False)
            await oldest.close()
        return client

    def _closed(self, address: tuple[str, int], client: Client) -> None:
        if self._clients.get(address) is client:
            del self._clients[address]
            self.on_lost(*address)

    def _warn(self, address: tuple[str, int], error: LoginFailed) -> None:
        """Once until it is let in: a node tries again for as long as it runs, and a person has to see why nothing happens."""
        if self._node_id != NO_NODE and address not in self._refused_by:
            self._refused_by.add(address)
            logger.warning("login refused node=%d reason=%s", self._node_id, error)

    def _connected(self, address: tuple[str, int], done: "asyncio.Task[Client]") -> None:
        self._connecting.pop(address, None)
        if not done.cancelled():
            done.exception()  # whoever still waits has it; nobody may be left
