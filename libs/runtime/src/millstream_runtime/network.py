"""The seam between services and the network: framed, ordered, two-way pipes.

Everything above this file sees whole frames and never a socket; `sockets/` implements it with the operating system's TCP,
`simulated/` with a seeded network in virtual time. Nothing here knows what is in a frame.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class FileSlice(Protocol):
    """A piece of a file that goes to the socket by sendfile; it stays readable until `release`."""

    @property
    def position(self) -> int: ...
    def __len__(self) -> int: ...
    def fileno(self) -> int: ...
    def read(self) -> bytes: ...
    def read_resident(self) -> bytes | bytearray | None:
        """All of it, or None where reading would wait for the disk."""

    def is_resident(self, position: int) -> bool:
        """Whether the file's byte at `position` can be sent without waiting for the disk."""

    def loading(self, position: int, length: int) -> Callable[[], None]:
        """Work for a thread: brings that part of the file into memory. It holds after `release` too."""

    def release(self) -> None: ...


Part = bytes | bytearray | memoryview | FileSlice

Frame = bytes | memoryview
"""What has arrived. A view is valid only during the call that hands it over; a small frame comes as bytes, which are cheaper to look into."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one peer, and all peers of one listener, may use up."""

    frame_max_bytes: int = 104_857_600
    """socket.request.max.bytes: a longer frame closes the connection."""
    connections_max: int = 2_147_483_647
    """max.connections: a connection beyond it is closed at once, and so is one that would take the last file descriptors."""
    connections_per_ip_max: int = 2_147_483_647
    """max.connections.per.ip: the same for those from one address."""
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


DEFAULT_LIMITS = Limits()


class Channel(Protocol):
    """One side of a connection. `send` never blocks; what it queues is bounded by the one who calls it."""

    @property
    def peer(self) -> str:
        """The other side, as `host:port`."""

    @property
    def unsent_bytes(self) -> int: ...

    def send(self, parts: Sequence[Part]) -> None:
        """Queue one frame: the channel adds the length, sends file slices by sendfile and releases them, sent or not."""

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def close(self, reason: str = "closed here") -> None:
        """Close now, unsent bytes are dropped; `on_closed` is called once, later or now."""


class ChannelUser(Protocol):
    """Who handles what arrives on a channel."""

    def on_frame(self, frame: Frame) -> None:
        """Handle one frame (without its length)."""

    def on_closed(self, reason: str) -> None:
        """The channel is gone, whoever closed it; called exactly once."""


class Listener(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...

    def close(self) -> None:
        """Stop accepting; connections stay."""


Accept = Callable[[Channel], ChannelUser]


class Network(Protocol):
    async def connect(self, host: str, port: int, use: Accept, *, limits: Limits = DEFAULT_LIMITS) -> Channel:
        """Open a connection or raise OSError (also when nothing answers within a few seconds)."""

    async def listen(self, host: str, port: int, accept: Accept, *, limits: Limits = DEFAULT_LIMITS) -> Listener:
        """Take connections on host:port (port 0: any free one) or raise OSError."""
