"""A cluster over this machine's real network, for as long as a block."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from millstream_client.addresses import DEFAULT_BOOTSTRAP, Address, parse_bootstrap
from millstream_client.cluster import Cluster
from millstream_client.credentials import credentials_of
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.world import RealWorld


@asynccontextmanager
async def open_cluster(
    bootstrap: str = DEFAULT_BOOTSTRAP,
    *,
    client_id: str = "millstream",
    properties: Mapping[str, str] | None = None,
    reached_at: Mapping[Address, Address] | None = None,
) -> AsyncIterator[Cluster]:
    """Nothing is connected until something is asked. `properties`: security.protocol, ssl.* and the like.

    `reached_at`: where nodes are found whose advertised address is of no use here, by that address.
    """
    world = RealWorld(SocketNetwork())
    world.own_addresses.update(reached_at or {})
    cluster = Cluster(
        world,
        parse_bootstrap(bootstrap),
        client_id=client_id,
        credentials=credentials_of(properties or {}),
    )
    try:
        yield cluster
    finally:
        await cluster.close()
