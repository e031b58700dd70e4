"""Which node clients meet when they come to a coordinator.

A process that is broker and coordinator has one port for clients, and both roles are registered with the same listeners. Clients
are shown one node there, the broker: they keep one connection per node, and one port is all that has to be reachable.
"""

from collections.abc import Iterable

from millstream_cluster.ids import Role
from millstream_cluster.image import Image
from millstream_cluster.members import Node


def door_of(image: Image, node: Node) -> Node:
    """The live broker that listens where this coordinator does, if there is one; else the node itself."""
    if node.role is Role.COORDINATOR:
        for broker in image.brokers.values():
            if broker.listeners == node.listeners and not broker.fenced:
                return broker
    return node


def doors(image: Image) -> Iterable[Node]:
    """The live nodes that clients are shown, in the order of their ids."""
    taken = {node.listeners for node in image.brokers.values() if not node.fenced}
    shown = (
        node
        for node in image.nodes.values()
        if not node.fenced and (node.role is Role.BROKER or node.listeners not in taken)
    )
    return sorted(shown, key=lambda node: node.node_id)
