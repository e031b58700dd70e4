"""Connections to hosts from which nothing comes: how long they are believed in."""

import asyncio
import socket

import pytest
from socket_peers import Echo

from millstream_runtime.network.links import DEFAULT_LIMITS, TO_NODES, Limits
from millstream_runtime.network.sockets.network import SocketNetwork

PATIENCE_S = 60
MORE_THAN_BUFFERS_TAKE = 16 * 1024 * 1024


def test_who_takes_nothing_for_long_is_lost() -> None:
    async def scenario() -> None:
        lost = asyncio.get_running_loop().create_future()

        class Talker(Echo):
            def on_closed(self, reason: str) -> None:
                lost.set_result(reason)

        with socket.create_server(("127.0.0.1", 0)) as deaf:  # its kernel takes what fits, and nobody reads it
            channel = await SocketNetwork().connect(*deaf.getsockname(), Talker, limits=Limits(silence_max_ms=100))
            channel.send([bytes(MORE_THAN_BUFFERS_TAKE)])
            async with asyncio.timeout(PATIENCE_S):
                await lost

    asyncio.run(scenario())


@pytest.mark.parametrize("limits", [DEFAULT_LIMITS, TO_NODES])
def test_nodes_are_asked_whether_they_are_there_while_nothing_is_sent(limits: Limits) -> None:
    async def scenario() -> tuple[int, ...]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            channel = await SocketNetwork().connect(*server.getsockname(), Echo, limits=limits)
            sock, tcp = channel._sock, socket.IPPROTO_TCP
            found = (
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                sock.getsockopt(tcp, socket.TCP_USER_TIMEOUT),
                sock.getsockopt(tcp, socket.TCP_KEEPIDLE) + 3 * sock.getsockopt(tcp, socket.TCP_KEEPINTVL),
            )
            channel.close()
            return found

    found = asyncio.run(scenario())
    assert found == (1, 3_000, 4) if limits is TO_NODES else found[:2] == (0, 0)
