"""One served connection: requests in, answers out in the order of the requests, whatever order they are ready in.

Whatever a peer sends, the worst that happens is that its own connection closes, with one line in the log.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, cast

from millstream_runtime.network.channel import Channel, ChannelUser
from millstream_runtime.network.frames import Frame, Part
from millstream_runtime.serving import api_versions
from millstream_runtime.serving.context import (
    CloseConnection,
    Completion,
    Connection,
    Deferred,
    RawReply,
    RequestContext,
    ignore_mute,
)
from millstream_runtime.serving.gate import Gate
from millstream_runtime.serving.route import Route, Shortcut
from millstream_wire.api import ApiKey
from millstream_wire.codec import DecodeError, decode, encode_parts
from millstream_wire.header import encode_response_header, read_request_header
from millstream_wire.schema import Request, Response

if TYPE_CHECKING:
    from millstream_runtime.serving.server import Server

logger = logging.getLogger(__name__)

_CORRELATION_BYTES: Final = 4
_FIXED = Struct(">hhi")  # API key, version, correlation id: how every request begins
_SASL_HANDSHAKE: Final = 17
_SASL_AUTHENTICATE: Final = 36


class _Rejected(Exception):
    """The peer sent what ends the connection."""


class _Pending:
    """A request whose answer is not sent; `parts` is the answer once there is one, empty when none is to be sent."""

    __slots__ = ("awaited", "parts")

    def __init__(self, awaited: "asyncio.Future[Any] | Deferred | None", parts: list[Part] | None) -> None:
        self.awaited = awaited
        self.parts = parts


class _Completion(Completion):
    """Puts an answer in its place once it is there."""

    __slots__ = ("_connection", "_context", "_pending", "_route", "_started")

    def __init__(
        self, connection: "ServedConnection", route: Route, context: RequestContext, pending: _Pending, started: float
    ) -> None:
        self._connection = connection
        self._route = route
        self._context = context
        self._pending = pending
        self._started = started

    def complete(self, reply: Any) -> None:
        self._connection.answered(self._route, self._context, self._pending, reply, self._started)

    def fail(self, error: Exception) -> None:
        self._connection.failed(self._route, self._context, error)

    def on_done(self, done: "asyncio.Future[Any]") -> None:
        """The same for a future."""
        if done.cancelled():
            self._connection.close("the request was cancelled")
            return
        error = done.exception()
        if error is None:
            self.complete(done.result())
        elif isinstance(error, Exception):
            self.fail(error)
        else:
            raise error


class ServedConnection(ChannelUser):
    """Invariant: answers leave in the order of `_pending`; nothing leaves after `_closed`."""

    def __init__(self, server: "Server[Any]", connection: Connection, channel: Channel) -> None:
        self._server = server
        self._connection = connection
        self._channel = channel
        self._routes = server.routes
        self._counters = server.counters
        self._time = server.world.monotonic_s
        self._pending: deque[_Pending] = deque()
        self._paused = False
        self._muted: asyncio.TimerHandle | None = None
        self._held = False
        self._closed = False
        self._gate: Gate | None = None
        connection.mute = self.mute

    def mute(self, duration_ms: int) -> None:
        """Read nothing for this long from now; a mute that lasts longer already stays."""
        loop = asyncio.get_running_loop()
        until = loop.time() + duration_ms / 1000
        if self._closed or (self._muted is not None and self._muted.when() >= until):
            return
        if self._muted is not None:
            self._muted.cancel()
        self._muted = loop.call_at(until, self._unmute)
        self._channel.pause_reading()

    def _unmute(self) -> None:
        self._muted = None
        if not self._paused and not self._held:
            self._channel.resume_reading()

    def guard(self, gate: Gate, frame_max_bytes: int) -> None:
        """Let this gate see all frames until it opens, none of them longer."""
        self._gate = gate
        self._channel.limit_frames(frame_max_bytes)

    def open(self) -> None:
        """Whoever it is may send what anybody may send."""
        self._channel.limit_frames(self._server.limits.frame_max_bytes)

    def hold(self) -> None:
        """Read nothing until `release`."""
        self._held = True
        self._channel.pause_reading()

    def release(self) -> None:
        self._held = False
        if not self._closed and not self._paused and self._muted is None:
            self._channel.resume_reading()

    def answer(self, frame: bytes) -> None:
        """Send what a gate answers to the newest frame, after the answers to those before it."""
        self._answer([frame])

    def reject(self, reason: str) -> None:
        self._counters.rejected += 1
        logger.info("connection closed server=%s peer=%s reason=%s", self._server.name, self._channel.peer, reason)
        self.close(reason)

    def on_frame(self, frame: Frame) -> None:
        self._counters.bytes_in += len(frame)
        try:
            gate = self._gate
            if gate is not None and (not gate.is_open or _is_about_login(frame)) and gate.takes(bytes(frame)):
                return
            self._handle(frame)
        except (DecodeError, _Rejected) as error:
            self.reject(str(error))

    def on_closed(self, reason: str) -> None:
        self._closed = True
        self._connection.mute = ignore_mute
        if self._muted is not None:
            self._muted.cancel()
        if self._gate is not None:
            self._gate.on_closed()
        for pending in self._pending:
            if pending.awaited is not None:
                pending.awaited.cancel()
            _release(pending.parts or ())
        self._pending.clear()
        for call in self._connection.at_close:
            call()
        self._server.forget(self._connection)

    def close(self, reason: str) -> None:
        self._closed = True
        self._channel.close(reason)

    def _handle(self, frame: Frame) -> None:
        try:
            api_key, version, correlation_id, client_id, position = read_request_header(frame)
        except DecodeError:
            if self._asks_versions_unknown(frame):
                return
            raise
        route = self._routes.get(api_key)
        if route is None:
            route = self._first_route(api_key)
        if not route.least <= version <= route.most:
            if self._asks_versions_unknown(frame):
                return
            raise _Rejected(f"{route.name} version {version} is not served")
        owned: Frame = bytes(frame) if route.owns_bytes else frame
        started = self._time()
        received_at_ms = int(started * 1000)
        context = RequestContext(
            route.api_key, version, correlation_id, client_id, owned, self._connection, received_at_ms
        )
        if route.shortcut is not None and self._take(route, route.shortcut, frame, position, context, started):
            return
        request = decode(route.request, version, owned, position)
        self._call(route, request, context, started)

    def _first_route(self, api_key: int) -> Route:
        route: Route | None = self._server.route(api_key)
        if route is None:
            raise _Rejected(f"unknown api key {api_key}")
        return route

    def _asks_versions_unknown(self, frame: Frame) -> bool:
        """Answer, in version 0, an ApiVersions of a version to come: what follows its correlation id we cannot know."""
        if len(frame) < _FIXED.size:
            return False
        api_key, version, correlation_id = _FIXED.unpack_from(frame)
        if api_key != ApiKey.API_VERSIONS:
            return False
        route = self._first_route(api_key)
        if route.least <= version <= route.most:
            return False
        unsupported = api_versions.unsupported(self._server.advertised)
        self._answer(encoded(ApiKey.API_VERSIONS, 0, correlation_id, unsupported))
        return True

    def _take(
        self,
        route: Route,
        shortcut: Shortcut,
        frame: Frame,
        position: int,
        context: RequestContext,
        started: float,
    ) -> bool:
        """Whether the shortcut took the request."""
        try:
            reply = shortcut(route.app, frame, position, context)
            if reply is None:
                return False
            if isinstance(reply, bytes):
                route.latency.observe((self._time() - started) * 1000)
                self._answer_small(reply)
            elif isinstance(reply, (Response, RawReply)):
                route.latency.observe((self._time() - started) * 1000)
                self._answer(encoded(route.api_key, context.version, context.correlation_id, reply))
            else:
                self._answer_later(route, context, reply, started)
        except Exception as error:
            self.failed(route, context, error)
        return True

    def _call(self, route: Route, request: Request[Any], context: RequestContext, started: float) -> None:
        try:
            reply = route.handle(route.app, request, context)
            if route.request_time is not None:
                reply = route.request_time.count(reply, context, self._time() - started)
            if reply is None or isinstance(reply, (Response, RawReply, bytes)):
                route.latency.observe((self._time() - started) * 1000)
                if reply is not None:
                    self._answer(encoded(route.api_key, context.version, context.correlation_id, reply))
                return
            self._answer_later(route, context, reply, started)
        except Exception as error:
            self.failed(route, context, error)

    def _answer_later(self, route: Route, context: RequestContext, reply: Any, started: float) -> None:
        if not route.owns_bytes:
            context.frame = b""  # the handler has returned: the bytes are not its any more
        if isinstance(reply, Deferred):
            pending = _Pending(reply, None)
            reply.bind(_Completion(self, route, context, pending, started))
            self._enqueue(pending)
            return
        awaited = reply if asyncio.isfuture(reply) else route.start(cast(Coroutine[Any, Any, Any], reply))
        pending = _Pending(awaited, None)
        self._enqueue(pending)
        awaited.add_done_callback(_Completion(self, route, context, pending, started).on_done)

    def answered(self, route: Route, context: RequestContext, pending: _Pending, reply: Any, started: float) -> None:
        """The answer to an earlier request is there."""
        try:
            parts: list[Part] = []
            if reply is not None:
                parts = encoded(route.api_key, context.version, context.correlation_id, reply)
            route.latency.observe((self._time() - started) * 1000)
            if self._closed:
                _release(parts)
            else:
                pending.parts = parts
                self._drain()
        except Exception as error:
            self.failed(route, context, error)

    def failed(self, route: Route, context: RequestContext, error: Exception) -> None:
        """A bug of ours, unless the handler says otherwise: the peer learns by the broken connection that the outcome is unknown."""
        if isinstance(error, CloseConnection):
            logger.info("connection closed server=%s peer=%s reason=%s", self._server.name, self._channel.peer, error)
            self.close(str(error))
            return
        logger.error(
            "request failed server=%s peer=%s api=%s version=%d client_id=%s",
            self._server.name,
            self._channel.peer,
            route.name,
            context.version,
            context.client_id,
            exc_info=error,
        )
        self.close("the request failed")

    def _answer(self, parts: list[Part]) -> None:
        """Send the answer to the newest request, after those before it."""
        if self._pending:
            self._enqueue(_Pending(None, parts))
        else:
            self._put(parts)

    def _answer_small(self, answer: bytes) -> None:
        if self._pending:
            self._enqueue(_Pending(None, [answer]))
        else:
            self._counters.bytes_out += len(answer)
            self._channel.send_small(answer)

    def _enqueue(self, pending: _Pending) -> None:
        self._pending.append(pending)
        if len(self._pending) >= self._server.limits.pending_requests_max and not self._paused:
            self._paused = True
            self._channel.pause_reading()

    def _drain(self) -> None:
        while self._pending and (parts := self._pending[0].parts) is not None:
            self._pending.popleft()
            if parts:
                self._put(parts)
        if self._paused and len(self._pending) <= self._server.limits.pending_requests_max // 2:
            self._paused = False
            if self._muted is None and not self._held:
                self._channel.resume_reading()

    def _put(self, parts: list[Part]) -> None:
        self._counters.bytes_out += len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        self._channel.send(parts)


def _is_about_login(frame: Frame) -> bool:
    return len(frame) > 1 and frame[0] == 0 and (frame[1] == _SASL_HANDSHAKE or frame[1] == _SASL_AUTHENTICATE)


def encoded(api_key: int, version: int, correlation_id: int, reply: Response | RawReply | bytes) -> list[Part]:
    if isinstance(reply, bytes):
        return [reply]
    if isinstance(reply, RawReply):
        return [correlation_id.to_bytes(_CORRELATION_BYTES, "big", signed=True), *reply.parts]
    parts = cast(list[Part], encode_parts(reply, version))
    start = encode_response_header(api_key, version, correlation_id)
    if parts and isinstance(parts[0], bytes):
        parts[0] = start + parts[0]
        return parts
    return [start, *parts]


def _release(parts: Sequence[Part]) -> None:
    for part in parts:
        if not isinstance(part, (bytes, bytearray, memoryview)):
            part.release()
