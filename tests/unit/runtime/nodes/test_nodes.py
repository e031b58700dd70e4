"""Connections to other nodes: who breaks one is told of, who is let go of is not."""

import asyncio
from typing import Any

from millstream_runtime.nodes.client import Nodes
from millstream_runtime.serving.server import Server

PORT = 9092


def test_a_connection_that_breaks_is_told_of_also_while_nothing_is_asked(simulated_hosts: Any) -> None:
    async def scenario() -> None:
        nodes = Nodes(simulated_hosts.world("asker"), client_id="test")
        lost: list[tuple[str, int]] = []
        nodes.on_lost = lambda host, port: lost.append((host, port))
        servers = {}
        for host in ("one", "other"):
            servers[host] = Server(host, {}, None, simulated_hosts.world(host))
            await servers[host].listen(host, PORT)
            await nodes.connected(host, PORT, timeout_ms=5_000)
        await servers["one"].close()
        await asyncio.sleep(1)
        assert lost == [("one", PORT)]
        await nodes.close()
        assert lost == [("one", PORT)], "the other one we closed"
        await servers["other"].close()

    simulated_hosts.run(scenario())
