"""What a node in the host gets of the outside: real sockets that can be silenced, the moved clock, a disk that can be full."""

import asyncio
import errno
import os
import random
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from millstream.testing.host.moving_loop import MovingLoop
from millstream.testing.host.owner import Owner
from millstream_log.disk import Disk
from millstream_runtime.metrics import Metrics
from millstream_runtime.network.links import DEFAULT_LIMITS, Accept, Limits, Wrap
from millstream_runtime.network.sockets.channel import SocketChannel
from millstream_runtime.network.sockets.network import SocketListener, SocketNetwork
from millstream_runtime.world import World

T = TypeVar("T")
NO_ANSWER_S = 10.0
NEVER_IDLE_MS = 2**53


class HostedWorld(World):
    """Of one node, from its start to its end."""

    def __init__(self, owner: Owner, loop: MovingLoop, since_s: Callable[[], float]) -> None:
        """`since_s`: how far the loop's clock was ahead when the cluster's time began."""
        self.hosted_network = HostedNetwork(owner)
        super().__init__(self.hosted_network, random.SystemRandom(), Metrics(), loop.time)
        self._loop = loop
        self._since_s = since_s

    def now_ms(self) -> int:
        return int((time.time() + self._loop.ahead_s - self._since_s()) * 1000)

    def monotonic_ms(self) -> int:
        return int(self._loop.time() * 1000)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)


class HostedNetwork(SocketNetwork):
    """Of one node."""

    def __init__(self, owner: Owner) -> None:
        super().__init__()
        self._owner = owner
        self._listeners: list[SocketListener] = []

    async def connect(
        self, host: str, port: int, use: Accept, *, limits: Limits = DEFAULT_LIMITS, wrap: Wrap | None = None
    ) -> SocketChannel:
        if self._owner.is_cut:
            await asyncio.sleep(NO_ANSWER_S)
            raise TimeoutError(errno.ETIMEDOUT, f"no answer from {host}:{port}")
        limits = replace(limits, connections_max_idle_ms=NEVER_IDLE_MS)  # or a week that passes at once would close it
        return await super().connect(host, port, use, limits=limits, wrap=wrap)

    async def listen(self, *arguments: Any, **more: Any) -> SocketListener:
        listener = await super().listen(*arguments, **more)
        self._listeners.append(listener)
        return listener

    def adopt(
        self,
        sock: socket.socket,
        peer: str,
        use: Accept,
        limits: Limits,
        when_closed: Callable[[], None] = lambda: None,
        encryption: Any = None,
    ) -> SocketChannel:
        gated = _GatedSocket(self._owner, sock)
        return super().adopt(gated, peer, use, limits, when_closed, encryption)

    def crash(self) -> None:
        """Close every socket, as the kernel does for a process that died."""
        for listener in self._listeners:
            listener.close()
        for channel in list(self._channels):
            channel.close("its node died")


class _GatedSocket(socket.socket):
    """Takes nothing while its node is deaf, as if the other side had no room."""

    def __init__(self, owner: Owner, sock: socket.socket) -> None:
        super().__init__(sock.family, sock.type, sock.proto, fileno=sock.detach())
        self.setblocking(False)
        self._owner = owner

    def send(self, *args: Any) -> int:
        self._refuse_if_deaf()
        return super().send(*args)

    def sendmsg(self, *args: Any) -> int:
        self._refuse_if_deaf()
        return super().sendmsg(*args)

    def _refuse_if_deaf(self) -> None:
        if self._owner.is_deaf:
            raise BlockingIOError(errno.EAGAIN, "its node is cut off")


class HostedDisk(Disk):
    """Flushes nothing, since nothing here outlives the machine; full when the test says so."""

    def __init__(self) -> None:
        self.is_full = False

    def open(self, path: Path, flags: int) -> int:
        if flags & os.O_CREAT and not path.exists():
            self._need_room()
        return super().open(path, flags)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        self._need_room()
        return super().pwrite(fd, data, position)

    def allocate(self, fd: int, size: int) -> None:
        self._need_room()
        os.ftruncate(fd, max(size, os.fstat(fd).st_size))

    def mkdir(self, path: Path) -> None:
        self._need_room()
        super().mkdir(path)

    def fsync(self, fd: int) -> None:
        """Nothing here has to survive a power loss."""

    def fdatasync(self, fd: int) -> None:
        """As above."""

    def sync_directory(self, directory: Path) -> None:
        """As above."""

    def _need_room(self) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
