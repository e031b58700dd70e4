"""Whether a node's process is gone, where the kernel of its host tells: nobody listens at its port any more."""

import asyncio

from millstream_cluster.members import Node
from millstream_runtime.network.channel import ChannelUser
from millstream_runtime.network.frames import Frame
from millstream_runtime.world import World


async def refuses(node: Node, world: World, *, timeout_s: float) -> bool:
    """Whether the node's host says that no process has its port; that it says nothing means nothing."""
    address = node.listeners[0].host, node.listeners[0].port
    try:
        async with asyncio.timeout(timeout_s):
            channel = await world.network.connect(*world.own_addresses.get(address, address), lambda _: _Nobody())
    except ConnectionRefusedError:
        return True
    except OSError:  # a time-out is one too
        return False
    channel.close("it lives")
    return False


class _Nobody(ChannelUser):
    """Has nothing to say and hears nothing."""

    def on_frame(self, frame: Frame) -> None:
        """Nothing was asked."""

    def on_closed(self, reason: str) -> None:
        """Nothing was expected."""
