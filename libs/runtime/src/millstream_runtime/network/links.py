"""The seam between services and the network: framed, ordered, two-way pipes.

Everything above this file sees whole frames and never a socket; `sockets/` implements it with the operating system's TCP,
`simulated/` with a seeded network in virtual time. Nothing here knows what is in a frame.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from millstream_cluster.quotas.windows import Windows
from millstream_runtime.network.channel import Channel, ChannelUser
from millstream_wire.late_dataclass import dataclass

if TYPE_CHECKING:
    from millstream_runtime.network.connection_quotas import Entrance


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """What one listener has of its own; None: as all of the server."""

    connections_max: int | None = None
    connection_creation_rate_max: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one peer, and all peers of one listener, may use up."""

    frame_max_bytes: int = 104_857_600
    """socket.request.max.bytes: a longer frame closes the connection."""
    connections_max: int = 2_147_483_647
    """max.connections: a connection beyond it waits to be taken in; one that would take the last file descriptors is closed at once."""
    connections_per_ip_max: int = 2_147_483_647
    """max.connections.per.ip: a connection beyond it from one address is closed at once."""
    connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """max.connections.per.ip.overrides: for these addresses another number."""
    connection_creation_rate_max: int = 2_147_483_647
    """max.connection.creation.rate: how many connections may come a second; the others wait."""
    of_listeners: Mapping[str, ListenerLimits] = field(default_factory=dict)
    """listener.name.X.max.connections, listener.name.X.max.connection.creation.rate: by the listener's name in lower case."""
    quota_windows: Windows = field(default_factory=Windows)
    """quota.window.num, quota.window.size.seconds: over which connections and clients' requests are counted."""
    connections_max_idle_ms: int = 600_000
    """connections.max.idle.ms: a connection on which nothing moved for this long is closed."""
    frame_timeout_ms: int = 30_000
    """A frame that has begun must be complete within this time (per MiB of it)."""
    pending_requests_max: int = 100
    """queued.max.requests: requests of one connection that may be under way; beyond it the connection is not read."""
    unsent_max_bytes: int = 16 * 1024 * 1024
    """Bytes queued for one connection beyond which it is not read."""
    backlog: int = 1024
    """socket.listen.backlog.size: connections that may wait to be accepted."""
    send_buffer_bytes: int = 256 * 1024
    """socket.send.buffer.bytes; -1 leaves it to the system. What a reader has not taken yet is colder the more it is."""
    receive_buffer_bytes: int = -1
    """socket.receive.buffer.bytes; -1 leaves it to the system."""
    silence_max_ms: int = -1
    """A connection that we made is closed when the other host's kernel answers nothing for this long, also while nothing is to be sent;
    -1 leaves it to the system. A process that reads nothing for as long is silent, too."""

    def connections_max_of(self, listener_name: str) -> int:
        own = self.of_listeners.get(listener_name.lower())
        return self.connections_max if own is None or own.connections_max is None else own.connections_max

    def creation_rate_of(self, listener_name: str) -> int:
        own = self.of_listeners.get(listener_name.lower())
        if own is None or own.connection_creation_rate_max is None:
            return self.connection_creation_rate_max
        return own.connection_creation_rate_max


class Unwelcome(Exception):
    """Whoever connected is not taken in; the message says why, for the log."""


DEFAULT_LIMITS = Limits()
TO_NODES = Limits(silence_max_ms=3_000)
"""Who waits for a node that is cut off does so for about a session, and asks it anew soon after it is back."""


class Listener(Protocol):
    limits: Limits
    """Of connections that are yet to come."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...

    def close(self) -> None:
        """Stop accepting; connections stay."""


Accept = Callable[[Channel], ChannelUser]
"""Who uses a new connection. Raises Unwelcome."""

Wrap = Callable[[ssl.MemoryBIO, ssl.MemoryBIO], ssl.SSLObject]
"""How one connection is encrypted: what arrives goes into the first, what is to be sent comes out of the second."""


OnFailedHandshake = Callable[[str, str], None]
"""Told who was not let in by TLS, and why: as often as anybody tries."""


def ignore_failed_handshake(peer: str, reason: str) -> None:
    """For a listener of which nobody wants to know."""


class Network(Protocol):
    async def connect(
        self, host: str, port: int, use: Accept, *, limits: Limits = DEFAULT_LIMITS, wrap: Wrap | None = None
    ) -> Channel:
        """Open a connection or raise OSError (also when nothing answers within a few seconds, or TLS is refused)."""

    async def listen(
        self,
        host: str,
        port: int,
        accept: Accept,
        *,
        limits: Limits = DEFAULT_LIMITS,
        wrap: Wrap | None = None,
        entrance: "Entrance | None" = None,
        on_failed_handshake: OnFailedHandshake = ignore_failed_handshake,
    ) -> Listener:
        """Take connections on host:port (port 0: any free one) or raise OSError; `accept` gets them once they are encrypted.

        `entrance`: which of them are taken in; without one the listener has limits of its own.
        """
