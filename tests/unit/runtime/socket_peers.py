"""A listener on a real socket, and the peers that tests let talk to it."""

import asyncio
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from millstream_runtime.network.channel import ChannelUser
from millstream_runtime.network.links import Limits, Wrap
from millstream_runtime.network.sockets.channel import SocketChannel
from millstream_runtime.network.sockets.network import SocketNetwork

TIMEOUT_SECONDS = 30


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(TIMEOUT_SECONDS * 100):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to hold")


class Echo(ChannelUser):
    def __init__(self, channel: SocketChannel) -> None:
        self.channel = channel
        self.closed: list[str] = []

    def on_frame(self, frame: memoryview) -> None:
        self.channel.send([bytes(frame)])

    def on_closed(self, reason: str) -> None:
        self.closed.append(reason)


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


@dataclass(frozen=True)
class Encryption:
    """How a listener is wrapped, and what its peers connect with."""

    wrap: Wrap
    peer: ssl.SSLContext


class Harness:
    """A listener, and asyncio's streams as its peers: plain, or with asyncio's own TLS."""

    encryption: ClassVar[Encryption | None] = None
    """Set by the fixture `each_channel`."""

    def __init__(self, user=Echo, **limits) -> None:
        self.user, self.limits = user, Limits(**limits)
        self.users: list = []
        self.network = SocketNetwork()

    async def __aenter__(self) -> "Harness":
        def accept(channel):
            self.users.append(self.user(channel))
            return self.users[-1]

        wrap = self.encryption.wrap if self.encryption is not None else None
        self.listener = await self.network.listen("127.0.0.1", 0, accept, limits=self.limits, wrap=wrap)
        return self

    async def __aexit__(self, *_) -> None:
        self.listener.close()
        for user in self.users:
            user.channel.close()

    async def connect(self):
        if self.encryption is None:
            return await asyncio.open_connection("127.0.0.1", self.listener.port)
        return await asyncio.open_connection("127.0.0.1", self.listener.port, ssl=self.encryption.peer)


async def read_frame(reader) -> bytes:
    (size,) = struct.unpack(">i", await asyncio.wait_for(reader.readexactly(4), 10))
    return await asyncio.wait_for(reader.readexactly(size), 10)


async def ends(reader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(), 10) == b""
    except ConnectionResetError:
        return True
