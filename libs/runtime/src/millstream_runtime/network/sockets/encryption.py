"""What encrypted connections of one event loop have in common; it is there where one listens or connects so, and not before."""

import socket
from collections.abc import Callable

from millstream_runtime.network.links import Limits, OnFailedHandshake, Wrap
from millstream_runtime.network.sockets.channel import SocketChannel
from millstream_runtime.network.sockets.disk_threads import DiskThreads
from millstream_runtime.network.sockets.handshakes import Handshakes, Turns
from millstream_runtime.network.sockets.pool import BufferPool
from millstream_runtime.network.sockets.tls_channel import TlsChannel
from millstream_runtime.network.sockets.tls_session import TLS_BUFFER_BYTES


class Workspace:
    """Of one network."""

    def __init__(self) -> None:
        self.cipher = bytearray(TLS_BUFFER_BYTES)
        self.turns = Turns()


class Encryption:
    """Makes the channels of one listener, or those to a server."""

    def __init__(self, wrap: Wrap, workspace: Workspace, on_failed: OnFailedHandshake | None = None) -> None:
        """`on_failed`: of a listener; None where we connect."""
        self._wrap = wrap
        self._workspace = workspace
        self._handshakes = Handshakes(on_failed) if on_failed is not None else None

    def channel(
        self,
        sock: socket.socket,
        peer: str,
        limits: Limits,
        shared: bytearray,
        pool: BufferPool,
        disk_threads: DiskThreads,
        forget: Callable[[SocketChannel], None],
    ) -> SocketChannel:
        workspace = self._workspace
        return TlsChannel(
            sock,
            peer,
            limits,
            shared,
            pool,
            disk_threads,
            forget,
            self._wrap,
            workspace.cipher,
            workspace.turns,
            self._handshakes,
        )

    def close(self) -> None:
        """No more handshakes; connections stay."""
        if self._handshakes is not None:
            self._handshakes.close()

    async def settled(self, channel: SocketChannel) -> None:
        """Wait until the handshake with a server is done. Raises HandshakeFailed."""
        assert isinstance(channel, TlsChannel)
        assert channel.settled is not None
        await channel.settled
