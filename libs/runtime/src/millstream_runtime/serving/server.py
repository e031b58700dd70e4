"""The dispatch of one service: frames to handlers, answers back in order.

Which API and version a node speaks, ApiVersions, and the life of connections are here, once for all services; what a request
means is not. One connection's requests and answers are in `connection.py`.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from millstream_cluster.principal import ANONYMOUS
from millstream_cluster.quotas.bounds import QuotasByEntity
from millstream_runtime.network.channel import Channel
from millstream_runtime.network.connection_quotas import ConnectionQuotas
from millstream_runtime.network.links import DEFAULT_LIMITS, Limits, Listener
from millstream_runtime.serving import api_versions
from millstream_runtime.serving.api_versions import ANYBODY, NO_FEATURES, Features, Identity
from millstream_runtime.serving.audit.audit import Audit
from millstream_runtime.serving.audit.event import handshake_failed
from millstream_runtime.serving.connection import ServedConnection
from millstream_runtime.serving.context import Connection, RawReply, RequestContext
from millstream_runtime.serving.guard import NO_GUARD, Guard
from millstream_runtime.serving.handlers import App, Handler, Handlers, serve
from millstream_runtime.serving.peer import OWN_HOSTS, ClientPeer, ListenerKind, introduced
from millstream_runtime.serving.request_time import RequestTime
from millstream_runtime.serving.route import Route, divided
from millstream_runtime.world import World
from millstream_security.authorization.authorizer import Authorizer
from millstream_wire.api import API, ApiKey
from millstream_wire.messages import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from millstream_runtime.serving.accounts import Accounts
    from millstream_runtime.serving.logins import Logins

__all__ = ["Connection", "Features", "Handler", "RawReply", "RequestContext", "Server"]


class Server(Generic[App]):
    """Serves `handlers` of `app` on any number of listeners until it is closed."""

    def __init__(
        self,
        name: str,
        handlers: Handlers[App],
        app: App,
        world: World,
        limits: Limits = DEFAULT_LIMITS,
        *,
        unadvertised: Iterable[ApiKey] = (),
        versions: Mapping[ApiKey, tuple[int, int]] | None = None,
        features: Callable[[], Features] = lambda: NO_FEATURES,
        identity: Callable[[], Identity] = lambda: ANYBODY,
        accounts: "Accounts | None" = None,
        authorizer: Authorizer | None = None,
    ) -> None:
        """`unadvertised`: served but left out of ApiVersions (what only nodes of the cluster send).

        `versions` narrows what the table of APIs says; `features` and `identity` are asked at each ApiVersions request.
        `accounts`: who may log in, for listeners where somebody has to.
        `authorizer`: who knows what clients may do; without one they may do everything.
        """
        self.name = name
        self.app = app
        self.world = world
        self.limits = limits
        self.features = features
        self.identity = identity
        self.accounts = accounts
        self.authorizer = authorizer
        self.audit = Audit(world, name)
        self.counters = world.metrics.server(name)
        self.advertised = _advertised(handlers, frozenset(unadvertised), versions or {})
        served = {int(key): handler for key, handler in handlers.items()}
        served[ApiKey.API_VERSIONS] = serve(ApiVersionsRequest, self._answer_api_versions)
        self._handlers = served
        self._narrowed = versions or {}
        self.routes: dict[int, Route] = {}
        """Of what was asked for, made by `route`. Connections look here first and keep the table: it changes in place."""
        self.request_time = RequestTime(world, limits.quota_windows)
        self.connection_quotas = ConnectionQuotas(limits)
        self.counters.throttled = (
            self.request_time.quota.throttled,
            self.connection_quotas.throttled,
            self.connection_quotas.throttled_addresses,
        )
        self._listeners: list[Listener] = []
        self._connections: dict[int, ServedConnection] = {}
        self._accepted = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._shared_with: Server[Any] | None = None
        self._claims: Mapping[int, Callable[[Any], bool]] = {}
        """Which requests are for that other server of this process."""

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def listen(
        self,
        host: str,
        port: int,
        *,
        listener_name: str = "PLAINTEXT",
        kind: ListenerKind = ListenerKind.NODES,
        guard: Guard = NO_GUARD,
    ) -> Listener:
        """Take connections on host:port; raises OSError (port in use)."""
        logins = await self._logins(listener_name, guard)
        # Where it matters who somebody is, a plain listener takes nobody's word for it but that of its own machine.
        is_guarded = guard.is_set or (self.authorizer is not None and host not in OWN_HOSTS)

        def accept(channel: Channel) -> ServedConnection:
            peer = guard.peer_of(channel.certificate)
            self._accepted += 1
            met = Connection(self._accepted, channel.peer, listener_name, kind, peer, is_guarded)
            met.authorizer, met.audit = self.authorizer, self.audit
            connection = ServedConnection(self, met, channel)
            if logins is not None:
                logins.guard(connection, met, lambda: self._judge(met))
            self._connections[self._accepted] = connection
            self.counters.connections += 1
            return connection

        wrap = guard.tls.wrap if guard.tls is not None else None
        entrance = self.connection_quotas.entrance(listener_name, is_for_nodes=kind is ListenerKind.NODES)
        listener = await self.world.network.listen(
            host,
            port,
            accept,
            limits=self.limits,
            wrap=wrap,
            entrance=entrance,
            on_failed_handshake=lambda peer, reason: self.audit.note(handshake_failed(listener_name, peer, reason)),
        )
        self._listeners.append(listener)
        return listener

    def limit(self, limits: Limits) -> None:
        """Let these hold for connections that come from now on."""
        self.limits = limits
        self.connection_quotas.limit(limits)
        for listener in self._listeners:
            listener.limits = limits

    def on_quotas(self, quotas: QuotasByEntity) -> None:
        """Keep clients to these from now on: the time that their requests take, and how fast they connect."""
        self.connection_quotas.on_quotas(quotas)
        quota = self.request_time.quota
        was_active = quota.active
        quota.configure(quotas)
        if quota.active != was_active:
            self.routes.clear()

    def route(self, key: int) -> Route | None:
        """How this API is served from now on, if it is; who serves it is loaded with its first request."""
        route = self._plain_route(key)
        if route is None:
            return None
        if self.request_time.quota.active:
            # A shortcut is for what needs no looking at.
            route = replace(route, shortcut=None, request_time=self.request_time)
        self.routes[key] = route
        return route

    async def close(self) -> None:
        """Stop listening, cancel what is under way, close every connection."""
        for listener in self._listeners:
            listener.close()
        for connection in list(self._connections.values()):
            connection.close("the server shuts down")
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.audit.close()

    def share(self, other: "Server[Any]", claims: Mapping[ApiKey, Callable[[Any], bool]]) -> None:
        """Pass on to another server of this process the requests that these say are its own."""
        self._shared_with, self._claims = other, {int(key): claim for key, claim in claims.items()}
        self.routes.clear()

    def unshare(self) -> None:
        """Answer all requests here again."""
        self._shared_with, self._claims = None, {}
        self.routes.clear()

    def forget(self, connection: Connection) -> None:
        del self._connections[connection.number]
        self.counters.connections -= 1

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run the rest of a handler; its connection handles the result, `close` its end."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _plain_route(self, key: int) -> Route | None:
        """How an API is served while nobody has a quota for the time that it takes."""
        handler = self._handlers.get(key)
        own = self._own_route(ApiKey(key), handler) if handler is not None else None
        is_theirs = self._claims.get(key)
        if is_theirs is None:
            return own
        theirs = self._shared_with._plain_route(key) if self._shared_with is not None else None
        assert theirs is not None, "what it claims it serves"
        return divided(own, theirs, is_theirs)

    def _own_route(self, key: ApiKey, handler: Handler[App]) -> Route:
        request = handler.request
        assert request is API[key].request, f"{key.name} is served as {request.__name__}"
        least, most = self._narrowed.get(key, API[key].versions)
        return Route(
            api_key=key,
            name=API[key].name,
            request=request,
            app=self.app,
            start=self.start,
            least=max(least, request.versions[0]),
            most=min(most, request.versions[1]),
            handle=handler.handle,
            owns_bytes=inspect.iscoroutinefunction(handler.handle),
            latency=self.counters.latency(API[key].name),
            shortcut=handler.shortcut,
        )

    def _answer_api_versions(
        self, app: App, request: ApiVersionsRequest, context: RequestContext
    ) -> ApiVersionsResponse:
        self._meet(context.connection, request, context.client_id)
        if request.client_software_name:
            context.connection.software = (request.client_software_name, request.client_software_version)
        identity = self.identity()
        if self._shared_with is not None:
            identity = identity.beside(self._shared_with.identity())
        return api_versions.answer(request, context.version, self.advertised, self.features(), identity)

    def _meet(self, connection: Connection, request: ApiVersionsRequest, client_id: str | None) -> None:
        """Take note of who is at the other end, the first time that it says so."""
        if not connection.has_met and connection.kind is ListenerKind.NODES:
            node = introduced(request, client_id, is_guarded=connection.is_guarded)
            if node is not None and connection.is_guarded:
                connection.introduction = node
                self._judge(connection)
            elif node is not None:
                connection.peer = node
        connection.has_met = True

    def _judge(self, connection: Connection) -> None:
        """Whoever has shown credentials, and said that it is a node, is one if its principal may be."""
        if connection.introduction is not None and self._may_be_node(connection):
            connection.peer = connection.introduction

    def _may_be_node(self, connection: Connection) -> bool:
        """Without an authorizer everybody may do everything, and be a node too; but somebody they have to be.

        ANONYMOUS is somebody only where super.users says so.
        """
        peer = connection.peer
        if not isinstance(peer, ClientPeer):
            return False
        if peer.principal == ANONYMOUS:
            return self.authorizer is not None and self.authorizer.is_super(ANONYMOUS)
        return self.authorizer is None or self.authorizer.may_be_node(peer.principal, connection.host)

    async def _logins(self, listener_name: str, guard: Guard) -> "Logins | None":
        if guard.sasl is None:
            return None
        from millstream_runtime.serving.logins import Logins  # what nobody needs where nobody logs in

        assert self.accounts is not None, "where somebody logs in, somebody knows them"
        logins = Logins(listener_name, guard.sasl, self.accounts, self.world, self.audit, server_name=self.name)
        await logins.begin()
        self.start(logins.run())
        return logins


def _advertised(
    handlers: Handlers[Any], hidden: frozenset[ApiKey], narrowed: Mapping[ApiKey, tuple[int, int]]
) -> dict[ApiKey, tuple[int, int]]:
    keys = {*handlers, ApiKey.API_VERSIONS} - hidden
    return {key: narrowed.get(key, API[key].versions) for key in sorted(keys)}
