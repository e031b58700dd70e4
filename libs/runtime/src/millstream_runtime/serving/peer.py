"""Who is at the other end of a connection: a client with a principal, or a node of the cluster.

The listener decides it, once, at the start of the connection; whatever is allowed to nodes only asks `context.peer`. A listener
without credentials can but believe what a node says of itself in its first request, as Kafka's own plaintext listeners trust
whoever reaches them: it keeps accidents out, not attackers. Listeners for clients believe nobody.
"""

import re
from enum import Enum
from typing import TypeAlias

from millstream_cluster.ids import NODE_ID_END, NodeId, Role, node_id_of, role_of
from millstream_cluster.principal import ANONYMOUS, Principal
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages import ApiVersionsRequest

OWN_HOSTS = ("127.0.0.1", "::1", "localhost")
"""Addresses that no other machine reaches."""
SOFTWARE_NAME = "millstream"
"""What all our nodes and clients call themselves in ApiVersions (KIP-511)."""


class ListenerKind(Enum):
    """For whom a listener is there."""

    CLIENTS = "clients"
    """Whoever comes is a client, whatever it says."""
    NODES = "nodes"
    """Nodes may say here who they are; who does not is a client."""


@dataclass(frozen=True, slots=True)
class ClientPeer:
    principal: Principal

    def __str__(self) -> str:
        return str(self.principal)


@dataclass(frozen=True, slots=True)
class NodePeer:
    """`role` follows from `node_id`."""

    role: Role
    node_id: NodeId

    @staticmethod
    def of(node_id: NodeId) -> "NodePeer":
        return NodePeer(role_of(node_id), node_id)

    def __str__(self) -> str:
        return f"Node:{self.node_id}"


Peer: TypeAlias = ClientPeer | NodePeer

ANONYMOUS_CLIENT = ClientPeer(ANONYMOUS)


def is_node(peer: Peer) -> bool:
    return isinstance(peer, NodePeer)


def is_coordinator(peer: Peer) -> bool:
    return isinstance(peer, NodePeer) and peer.role is Role.COORDINATOR


def introduced(request: ApiVersionsRequest, client_id: str | None, *, is_guarded: bool = False) -> NodePeer | None:
    """Who the sender says it is; None if it does not say that it is a node.

    `is_guarded`: the listener asks for credentials, which no node of release 0.1.0 can show.
    """
    if 0 <= request.sender_node_id < NODE_ID_END:
        return NodePeer.of(NodeId(request.sender_node_id))
    return None if is_guarded else _of_release_0_1(request, client_id)


_NODE_OF_RELEASE_0_1 = re.compile(r"(?:__)?(broker|coordinator|controller)-([0-9]{1,5})")


def _of_release_0_1(request: ApiVersionsRequest, client_id: str | None) -> NodePeer | None:
    """Nodes of release 0.1.0 say it by their client id alone: `coordinator-10001`, `__coordinator-10001`, `broker-0`.

    Needed while a cluster is upgraded from that release node by node.
    """
    named = _NODE_OF_RELEASE_0_1.fullmatch(client_id or "")
    if named is None or request.client_software_name != SOFTWARE_NAME:
        return None
    role, number = Role(named[1]), int(named[2])
    try:
        node_id = NodeId(number) if number and role_of(number) is role else node_id_of(role, number)
    except ValueError:
        return None
    return NodePeer.of(node_id)
