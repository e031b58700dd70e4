"""One request to one server, the answer as a message: for what no client library can send, or shows only in part."""

import asyncio
from typing import Any

from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client
from millstream_runtime.nodes.credentials import PLAIN, Credentials
from millstream_runtime.world import RealWorld

TIMEOUT_MS = 30_000


def ask(bootstrap: str, *requests: Any, version: int | None = None, credentials: Credentials = PLAIN) -> list[Any]:
    """Send requests one after the other on one connection; the highest common versions unless one is given."""

    async def body() -> list[Any]:
        host, _, port = bootstrap.split(",")[0].partition(":")
        world = RealWorld(SocketNetwork())
        client = await Client.connect(world, host, int(port), client_id="ask", credentials=credentials)
        try:
            return [await client.request(request, timeout_ms=TIMEOUT_MS, version=version) for request in requests]
        finally:
            await client.close()

    return asyncio.run(body())
