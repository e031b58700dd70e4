"""How long clients' requests keep the loop from everybody else: a quota in percent of its time (request_percentage).

While somebody has such a quota, requests are handled by routes that count; while nobody has, by those that do not, at no cost.
What a request waits for is nobody's time, nor is that of threads.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, cast

from millstream_cluster.quotas.bounds import Client
from millstream_cluster.quotas.client_quota import ClientQuota
from millstream_cluster.quotas.keys import REQUEST_TIME
from millstream_cluster.quotas.windows import Windows
from millstream_runtime.nodes.answers import decoded_answer
from millstream_runtime.serving.awaited import awaited
from millstream_runtime.serving.context import Deferred, RawReply, RequestContext
from millstream_runtime.serving.handlers import App, Handler
from millstream_runtime.serving.peer import ClientPeer
from millstream_runtime.world import World
from millstream_wire.schema import Request, Response

MICROSECONDS_PER_PERCENT = 10_000


def client_of(context: RequestContext) -> Client | None:
    """The user and client id whose quotas a request counts towards; None for a node's, which is nobody's."""
    peer = context.peer
    return (peer.principal.name, context.client_id or "") if isinstance(peer, ClientPeer) else None


class RequestTime:
    def __init__(self, world: World, windows: Windows) -> None:
        self.quota = ClientQuota(
            REQUEST_TIME, windows, units=MICROSECONDS_PER_PERCENT, throttle_max_ms=windows.window_ms
        )
        self._world = world

    def count(self, reply: Any, context: RequestContext, spent_s: float) -> Any:
        """What a handler returned, its client told to wait if it has used more than it may."""
        client = client_of(context)
        if client is None:
            return reply
        if reply is None or isinstance(reply, (Response, RawReply, bytes)):
            return self._told(reply, context, client, spent_s)
        work = awaited(reply) if isinstance(reply, Deferred) else reply
        return self._told_later(work, context, client, spent_s)

    def handle(self, handler: Handler[App], app: App, request: Request[Any], context: RequestContext) -> Any:
        """Have a request handled that came in another one, and count its time."""
        began_s = self._world.monotonic_s()
        reply = handler.handle(app, request, context)
        return self.count(reply, context, self._world.monotonic_s() - began_s)

    async def _told_later(
        self, work: Awaitable[Any], context: RequestContext, client: Client, spent_s: float
    ) -> Response | RawReply | bytes | None:
        timed = _Timed(work, self._world.monotonic_s)
        reply = await timed
        return self._told(reply, context, client, spent_s + timed.spent_s)

    def _told(
        self, reply: Response | RawReply | bytes | None, context: RequestContext, client: Client, spent_s: float
    ) -> Response | RawReply | bytes | None:
        throttle_ms = self.quota.charge(client, int(spent_s * 1_000_000), self._world.monotonic_ms())
        if not throttle_ms:
            return reply
        context.connection.mute(throttle_ms)
        if isinstance(reply, RawReply) and len(reply.parts) == 1 and isinstance(reply.parts[0], (bytes, memoryview)):
            reply = decoded_answer(context.api_key, context.version, bytes(reply.parts[0])) or reply
        told_ms = getattr(reply, "throttle_time_ms", None)
        if told_ms is not None:
            reply.throttle_time_ms = max(told_ms, throttle_ms)  # type: ignore[union-attr]
        return reply


class _Timed:
    """Some work, and how long it was on the loop, without what it waited for."""

    def __init__(self, work: Awaitable[Any], now_s: Callable[[], float]) -> None:
        self.spent_s = 0.0
        self._work = work
        self._now_s = now_s

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = cast(Generator[Any, None, Any], self._work.__await__())
        failure: BaseException | None = None
        while True:
            began_s = self._now_s()
            try:
                step = steps.send(None) if failure is None else steps.throw(failure)
            except StopIteration as end:
                return end.value
            finally:
                self.spent_s += self._now_s() - began_s
            failure = None
            try:
                yield step
            except BaseException as error:
                failure = error
