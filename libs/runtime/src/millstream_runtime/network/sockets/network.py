"""`Network` over the operating system's TCP."""

import asyncio
import errno
import logging
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from millstream_runtime.network.links import (
    DEFAULT_LIMITS,
    Accept,
    Limits,
    OnFailedHandshake,
    Wrap,
    ignore_failed_handshake,
)
from millstream_runtime.network.sockets.channel import SocketChannel
from millstream_runtime.network.sockets.disk_threads import DiskThreads
from millstream_runtime.network.sockets.pool import BufferPool
from millstream_runtime.network.sockets.receiving import SHARED_BUFFER_BYTES
from millstream_wire.late_dataclass import dataclass

if TYPE_CHECKING:
    from millstream_runtime.network.connection_quotas import Entrance
    from millstream_runtime.network.sockets.encryption import Encryption, Workspace

logger = logging.getLogger(__name__)

Address = tuple[str, int]

CONNECT_TIMEOUT_SECONDS = 10.0
KEEPALIVE_SECONDS = 1
SWEEP_SECONDS = 1.0
SWEPT_PER_TICK = 256
ACCEPTS_PER_TICK = 64
NO_DESCRIPTORS_PAUSE_SECONDS = 1.0
REFUSALS_LOGGED_SECONDS = 10.0
LEAVING_MAX = 1_000
RESERVED_SHARE, RESERVED_MAX = 8, 1000  # of the descriptors, an eighth or so many are for files only


class SocketNetwork:
    """One per event loop: its connections share a receive buffer, a pool for large frames and the sweep for dead peers."""

    def __init__(self) -> None:
        self._shared = bytearray(SHARED_BUFFER_BYTES)
        self._pool = BufferPool()
        self._disk_threads = DiskThreads()
        self._channels: set[SocketChannel] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._workspace: Workspace | None = None

    async def connect(
        self, host: str, port: int, use: Accept, *, limits: Limits = DEFAULT_LIMITS, wrap: Wrap | None = None
    ) -> SocketChannel:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                sock = await _connect_any(await _resolve(host, port), limits)
                if wrap is not None:
                    return await self._shake_hands(sock, f"{host}:{port}", use, limits, wrap)
        except TimeoutError:
            raise TimeoutError(errno.ETIMEDOUT, f"no answer from {host}:{port}") from None
        return self.adopt(sock, f"{host}:{port}", use, limits)

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
    ) -> "SocketListener":
        family, address = (await _resolve(host or "0.0.0.0", port))[0]
        sock = socket.create_server(address, family=family, backlog=limits.backlog)
        for option, size in (
            (socket.SO_SNDBUF, limits.send_buffer_bytes),
            (socket.SO_RCVBUF, limits.receive_buffer_bytes),
        ):
            if size >= 0:
                sock.setsockopt(socket.SOL_SOCKET, option, size)  # each connection inherits it
        sock.setblocking(False)
        if entrance is None:
            from millstream_runtime.network.connection_quotas import ConnectionQuotas  # of no use to a client

            entrance = ConnectionQuotas(limits).entrance()
        return SocketListener(self, sock, accept, limits, entrance, self._encryption(wrap, on_failed_handshake))

    def adopt(
        self,
        sock: socket.socket,
        peer: str,
        use: Accept,
        limits: Limits,
        when_closed: Callable[[], None] = lambda: None,
        encryption: "Encryption | None" = None,
    ) -> SocketChannel:
        """Run a connected socket as a channel, until it closes."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def forget(channel: SocketChannel) -> None:
            self._channels.discard(channel)
            when_closed()

        make = SocketChannel if encryption is None else encryption.channel
        channel = make(sock, peer, limits, self._shared, self._pool, self._disk_threads, forget)
        self._channels.add(channel)
        if self._sweep_timer is None:
            self._sweep_timer = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)
        channel.start(use)
        return channel

    def _encryption(self, wrap: Wrap | None, on_failed: OnFailedHandshake | None = None) -> "Encryption | None":
        """`on_failed`: of the listener; None where we connect."""
        if wrap is None:
            return None
        from millstream_runtime.network.sockets.encryption import Encryption, Workspace

        if self._workspace is None:
            self._workspace = Workspace()
        return Encryption(wrap, self._workspace, on_failed)

    async def _shake_hands(
        self, sock: socket.socket, peer: str, use: Accept, limits: Limits, wrap: Wrap
    ) -> SocketChannel:
        """Raises HandshakeFailed."""
        encryption = self._encryption(wrap)
        assert encryption is not None
        channel = self.adopt(sock, peer, use, limits, encryption=encryption)
        try:
            await encryption.settled(channel)
        except BaseException:
            channel.close("nobody waits any more")
            raise
        return channel

    def _sweep(self) -> None:
        self._sweep_some(list(self._channels), 0)

    def _sweep_some(self, channels: list[SocketChannel], idle: int) -> None:
        """A few at a time: thousands at once would keep those waiting that have something to do."""
        loop = asyncio.get_running_loop()
        now_ms = int(loop.time() * 1000)
        for channel in channels[-SWEPT_PER_TICK:]:
            idle += channel.sweep(now_ms)
        del channels[-SWEPT_PER_TICK:]
        if channels:
            self._sweep_timer = loop.call_later(0, self._sweep_some, channels, idle)
            return
        if idle:
            logger.info("connections closed count=%d reason=idle", idle)
        self._sweep_timer = loop.call_later(SWEEP_SECONDS, self._sweep) if self._channels else None


@dataclass(frozen=True, slots=True)
class _Held:
    sock: socket.socket
    host: str
    port: int
    until_ms: int


class SocketListener:
    def __init__(
        self,
        network: SocketNetwork,
        sock: socket.socket,
        accept: Accept,
        limits: Limits,
        entrance: "Entrance",
        encryption: "Encryption | None" = None,
    ) -> None:
        self.host, self.port = sock.getsockname()[:2]
        self._network = network
        self._sock = sock
        self._accept = accept
        self._encryption = encryption
        self.limits = limits
        self._entrance = entrance
        entrance.on_room = self._admit_held
        self._held: _Held | None = None
        """Who is to be taken in next, and has to wait; those behind wait to be accepted."""
        self._leaving: set[socket.socket] = set()
        """Who came too fast from one address, and has not been told to leave yet."""
        self._closed = False
        self._refused = 0
        self._refusals_logged_at = -REFUSALS_LOGGED_SECONDS
        self._waiting_logged_at = -REFUSALS_LOGGED_SECONDS
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock, self._on_readable)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._sock)
            self._sock.close()
            self._entrance.close()
            if self._held is not None:
                self._held.sock.close()
            for sock in self._leaving:
                sock.close()
            if self._encryption is not None:
                self._encryption.close()

    def _on_readable(self) -> None:
        last_descriptor = _last_for_sockets()
        for _ in range(ACCEPTS_PER_TICK):
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                self._say_refused(errno.errorcode[error.errno])
                self._loop.remove_reader(self._sock)
                self._loop.call_later(NO_DESCRIPTORS_PAUSE_SECONDS, self._listen_again)
                return
            if sock.fileno() > last_descriptor:  # the kernel gives the lowest that is free
                self._refuse(sock, "file_descriptors")
                continue
            wait_ms = self._entrance.arrive(self._now_ms())
            if wait_ms or not self._entrance.has_room:
                self._hold(sock, address[0], address[1], wait_ms)
                return
            self._admit(sock, address[0], address[1])

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1000)

    def _listen_again(self) -> None:
        if not self._closed and self._held is None:
            self._loop.add_reader(self._sock, self._on_readable)

    def _hold(self, sock: socket.socket, host: str, port: int, wait_ms: int) -> None:
        self._held = _Held(sock, host, port, self._now_ms() + wait_ms)
        self._loop.remove_reader(self._sock)
        if not self._entrance.has_room:
            self._say_held()
        if wait_ms:
            self._loop.call_later((wait_ms + 1) / 1000, self._admit_held)

    def _admit_held(self) -> None:
        held = self._held
        if held is None or self._closed or self._now_ms() < held.until_ms or not self._entrance.has_room:
            return
        self._held = None
        self._admit(held.sock, held.host, held.port)
        self._listen_again()

    def _admit(self, sock: socket.socket, host: str, port: int) -> None:
        refusal = self._entrance.enter(host, self._now_ms())
        if refusal is None:
            self._take(sock, host, port)
        elif refusal.after_ms and len(self._leaving) < LEAVING_MAX:
            self._leaving.add(sock)
            self._loop.call_later(refusal.after_ms / 1000, self._put_out, sock, refusal.reason)
        else:
            self._refuse(sock, refusal.reason)

    def _put_out(self, sock: socket.socket, reason: str) -> None:
        self._leaving.discard(sock)
        self._refuse(sock, reason)

    def _refuse(self, sock: socket.socket, reason: str) -> None:
        sock.close()
        self._say_refused(reason)

    def _say_refused(self, reason: str) -> None:
        self._refused += 1
        now = self._loop.time()
        if now - self._refusals_logged_at >= REFUSALS_LOGGED_SECONDS:
            logger.warning(
                "connections refused port=%d count=%d open=%d reason=%s",
                self.port,
                self._refused,
                self._entrance.open,
                reason,
            )
            self._refusals_logged_at, self._refused = now, 0

    def _say_held(self) -> None:
        now = self._loop.time()
        if now - self._waiting_logged_at >= REFUSALS_LOGGED_SECONDS:
            logger.warning("connections wait port=%d open=%d reason=max.connections", self.port, self._entrance.open)
            self._waiting_logged_at = now

    def _take(self, sock: socket.socket, host: str, port: int) -> None:
        sock.setblocking(False)
        gone = partial(self._entrance.leave, host)
        self._network.adopt(sock, f"{host}:{port}", self._accept, self.limits, gone, self._encryption)


def _last_for_sockets() -> int:
    """Beyond it descriptors are kept for the logs: a broker that cannot open a segment refuses what clients produce."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return limit - min(limit // RESERVED_SHARE, RESERVED_MAX)


async def _connect_any(addresses: list[tuple[int, Address]], limits: Limits) -> socket.socket:
    """The first address that answers; the last error if none does."""
    failure = OSError("no address")
    for family, address in addresses:
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            if limits.silence_max_ms >= 0:
                _bound_silence(sock, limits.silence_max_ms)
            await asyncio.get_running_loop().sock_connect(sock, address)
            if sock.getsockname() != sock.getpeername():
                return sock
            # Both ends of a loopback connection to a free port can be this very socket.
            failure = ConnectionRefusedError(errno.ECONNREFUSED, f"nobody listens on {address[0]}:{address[1]}")
        except OSError as error:
            failure = error
        except BaseException:
            sock.close()
            raise
        sock.close()
    raise failure


def _bound_silence(sock: socket.socket, silence_max_ms: int) -> None:
    """Of what is sent, and, where nothing is, of the questions whether the other side is there."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, silence_max_ms)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, max(1, silence_max_ms // 1000 // KEEPALIVE_SECONDS))


async def _resolve(host: str, port: int) -> list[tuple[int, Address]]:
    """Addresses as they are, names by the resolver (in its thread); IPv4 first."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [(int(family), (str(address[0]), int(address[1]))) for family, _, _, _, address in found]
    return sorted(addresses, key=lambda each: each[0] != socket.AF_INET)
