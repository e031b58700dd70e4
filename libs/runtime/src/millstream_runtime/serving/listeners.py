"""Where a node listens, what others are told of that, and what its peers may use up: the same properties for every service."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.quotas.addresses import numbers_of
from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import Endpoint
from millstream_runtime.network.links import Limits, ListenerLimits
from millstream_runtime.nodes.registration import AdvertisedListener
from millstream_runtime.properties import Properties, PropertyError, parse_address
from millstream_runtime.service import ServiceFailed
from millstream_runtime.serving.peer import OWN_HOSTS, ListenerKind
from millstream_runtime.serving.security import PLAIN_SECURITY, Security
from millstream_runtime.serving.server import Server
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

CONNECTIONS_MAX = "max.connections"
CREATION_RATE = "max.connection.creation.rate"
WILDCARDS = ("", "0.0.0.0", "::")
"""Addresses to listen on, none to connect to."""
LOOPBACKS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def endpoints_of(properties: Properties, key: str, default: str) -> tuple[Endpoint, ...]:
    """`NAME://host:port,...`; no name twice."""
    endpoints = []
    for item in properties.texts(key, default):
        name, separator, _ = item.partition("://")
        if not separator:
            raise PropertyError(f"{key} must be NAME://host:port, not {item!r}")
        endpoints.append(Endpoint(name, *parse_address(key, item)))
    if len({endpoint.name for endpoint in endpoints}) != len(endpoints):
        raise PropertyError(f"{key} names a listener twice")
    return tuple(endpoints)


def listeners_of(properties: Properties, default: str) -> tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]:
    """listeners and advertised.listeners, where every listener can be reached by what is advertised."""
    listeners = endpoints_of(properties, "listeners", default)
    advertised = endpoints_of(properties, "advertised.listeners", "")
    if not listeners:
        raise PropertyError("listeners must name at least one")
    told = {endpoint.name: endpoint for endpoint in advertised}
    for endpoint in listeners:
        if told.get(endpoint.name, endpoint).host in WILDCARDS:
            raise PropertyError(f"advertised.listeners must say how clients reach the listener {endpoint.name}")
    return listeners, advertised


def limits_of(properties: Properties) -> Limits:
    defaults = Limits()
    return Limits(
        frame_max_bytes=properties.integer("socket.request.max.bytes", defaults.frame_max_bytes, least=1),
        connections_max=properties.integer(CONNECTIONS_MAX, defaults.connections_max, least=0),
        connections_per_ip_max=properties.integer("max.connections.per.ip", defaults.connections_per_ip_max, least=0),
        connections_per_ip_overrides=_per_address(properties, "max.connections.per.ip.overrides"),
        connection_creation_rate_max=properties.integer(CREATION_RATE, defaults.connection_creation_rate_max, least=0),
        of_listeners=_limits_of_listeners(properties),
        quota_windows=quota_windows_of(properties),
        connections_max_idle_ms=properties.integer(
            "connections.max.idle.ms", defaults.connections_max_idle_ms, least=1
        ),
        pending_requests_max=properties.integer("queued.max.requests", defaults.pending_requests_max, least=1),
        backlog=properties.integer("socket.listen.backlog.size", defaults.backlog, least=1),
        send_buffer_bytes=properties.integer("socket.send.buffer.bytes", defaults.send_buffer_bytes, least=-1),
        receive_buffer_bytes=properties.integer("socket.receive.buffer.bytes", defaults.receive_buffer_bytes, least=-1),
    )


def quota_windows_of(properties: Properties, prefix: str = "") -> Windows:
    """`prefix`: of the keys; "controller." for changes of metadata."""
    defaults = Windows()
    return Windows(
        samples=properties.integer(f"{prefix}quota.window.num", defaults.samples, least=2),
        window_ms=properties.integer(f"{prefix}quota.window.size.seconds", defaults.window_ms // 1_000, least=1)
        * 1_000,
    )


def _limits_of_listeners(properties: Properties) -> dict[str, ListenerLimits]:
    """By names in lower case, as Kafka's keys have them."""
    names = [item.partition("://")[0].lower() for item in properties.texts("listeners", "")]

    def own(name: str, key: str) -> int | None:
        full = f"listener.name.{name}.{key}"
        return None if properties.optional(full) is None else properties.integer(full, least=0)

    limits = {name: ListenerLimits(own(name, CONNECTIONS_MAX), own(name, CREATION_RATE)) for name in names}
    return {name: each for name, each in limits.items() if each != ListenerLimits()}


def _per_address(properties: Properties, key: str) -> dict[str, int]:
    try:
        return numbers_of(properties.text(key, ""))
    except ValueError as error:
        raise PropertyError(f"{key} {error}") from None


async def listen_on(
    server: Server[Any],
    endpoints: Sequence[Endpoint],
    *,
    nodes_listener: str | None = None,
    security: Security = PLAIN_SECURITY,
) -> dict[str, tuple[str, int]]:
    """Take connections on all of these; where they really are, by name. Raises ServiceFailed.

    Nodes are known on `nodes_listener` only, or on any of them if there is none.
    """
    listening = {}
    for endpoint in endpoints:
        kind = ListenerKind.NODES if nodes_listener in (None, endpoint.name) else ListenerKind.CLIENTS
        guard = security.guard(endpoint.name)
        if guard.tls is not None:
            guard.tls.say()
        if not guard.is_set and endpoint.host not in OWN_HOSTS:
            logger.warning(
                "listener is open to everybody listener=%s address=%s:%d protocol=%s nobody_shows_who_he_is",
                endpoint.name,
                endpoint.host,
                endpoint.port,
                guard.security.protocol.name,
            )
        try:
            listener = await server.listen(
                endpoint.host, endpoint.port, listener_name=endpoint.name, kind=kind, guard=guard
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ServiceFailed(f"cannot listen on {endpoint.host}:{endpoint.port}: {reason}") from error
        listening[endpoint.name] = (listener.host, listener.port)
    return listening


def advertise(
    world: World,
    listening: Mapping[str, tuple[str, int]],
    advertised: Sequence[Endpoint],
    security: Security = PLAIN_SECURITY,
) -> tuple[AdvertisedListener, ...]:
    """What others are told: where nothing else is advertised, a listener's own address. This process goes there directly."""
    told = {endpoint.name: endpoint for endpoint in advertised}
    addresses = []
    for name, (host, port) in listening.items():
        endpoint = told.get(name)
        bound = (LOOPBACKS.get(host, host), port)
        if endpoint is not None:
            host, port = endpoint.host, endpoint.port or port
        be_at_home(world, (host, port), bound)
        addresses.append(AdvertisedListener(name, host, port, security.guard(name).security.protocol))
    return tuple(addresses)


def be_at_home(world: World, advertised: tuple[str, int], bound: tuple[str, int]) -> None:
    """Let this process's roles meet where one of them listens; its certificate is of the name that it is known by."""
    world.own_addresses[advertised] = bound
    world.own_names[bound] = advertised[0]
