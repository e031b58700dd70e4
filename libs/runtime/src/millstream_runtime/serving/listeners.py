"""Where a node listens, what others are told of that, and what its peers may use up: the same properties for every service."""

from collections.abc import Mapping, Sequence
from typing import Any

from millstream_cluster.records import Endpoint
from millstream_runtime.network.links import Limits
from millstream_runtime.nodes.registration import AdvertisedListener
from millstream_runtime.properties import Properties, PropertyError, parse_address
from millstream_runtime.service import ServiceFailed
from millstream_runtime.serving.peer import ListenerKind
from millstream_runtime.serving.server import Server
from millstream_runtime.world import World

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


def nodes_first(properties: Properties, listeners: tuple[Endpoint, ...]) -> tuple[tuple[Endpoint, ...], str | None]:
    """inter.broker.listener.name, and the listeners with it in front: others nodes use the first of those that are registered."""
    name = properties.optional("inter.broker.listener.name")
    if name is None:
        return listeners, None
    if name not in {endpoint.name for endpoint in listeners}:
        raise PropertyError(f"inter.broker.listener.name must be the name of one of listeners, not {name!r}")
    return tuple(sorted(listeners, key=lambda endpoint: endpoint.name != name)), name


def limits_of(properties: Properties) -> Limits:
    defaults = Limits()
    return Limits(
        frame_max_bytes=properties.integer("socket.request.max.bytes", defaults.frame_max_bytes, least=1),
        connections_max=properties.integer("max.connections", defaults.connections_max, least=0),
        connections_per_ip_max=properties.integer("max.connections.per.ip", defaults.connections_per_ip_max, least=0),
        connections_max_idle_ms=properties.integer(
            "connections.max.idle.ms", defaults.connections_max_idle_ms, least=1
        ),
        pending_requests_max=properties.integer("queued.max.requests", defaults.pending_requests_max, least=1),
        backlog=properties.integer("socket.listen.backlog.size", defaults.backlog, least=1),
        send_buffer_bytes=properties.integer("socket.send.buffer.bytes", defaults.send_buffer_bytes, least=-1),
        receive_buffer_bytes=properties.integer("socket.receive.buffer.bytes", defaults.receive_buffer_bytes, least=-1),
    )


async def listen_on(
    server: Server[Any], endpoints: Sequence[Endpoint], *, nodes_listener: str | None = None
) -> dict[str, tuple[str, int]]:
    """Take connections on all of these; where they really are, by name. Raises ServiceFailed.

    Nodes are known on `nodes_listener` only, or on any of them if there is none.
    """
    listening = {}
    for endpoint in endpoints:
        kind = ListenerKind.NODES if nodes_listener in (None, endpoint.name) else ListenerKind.CLIENTS
        try:
            listener = await server.listen(endpoint.host, endpoint.port, listener_name=endpoint.name, kind=kind)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ServiceFailed(f"cannot listen on {endpoint.host}:{endpoint.port}: {reason}") from error
        listening[endpoint.name] = (listener.host, listener.port)
    return listening


def advertise(
    world: World, listening: Mapping[str, tuple[str, int]], advertised: Sequence[Endpoint]
) -> tuple[AdvertisedListener, ...]:
    """What others are told: where nothing else is advertised, a listener's own address. This process goes there directly."""
    told = {endpoint.name: endpoint for endpoint in advertised}
    addresses = []
    for name, (host, port) in listening.items():
        endpoint = told.get(name)
        bound = (LOOPBACKS.get(host, host), port)
        if endpoint is not None:
            host, port = endpoint.host, endpoint.port or port
        world.own_addresses[host, port] = bound
        addresses.append(AdvertisedListener(name, host, port))
    return tuple(addresses)
