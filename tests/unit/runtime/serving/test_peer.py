"""Who a connection's other side is: decided by the listener and the first ApiVersions, by nothing else."""

import pytest

from millstream_cluster.ids import NO_NODE, NodeId, Role
from millstream_runtime.nodes.client import Client
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.listeners import listeners_of
from millstream_runtime.serving.peer import (
    ANONYMOUS_CLIENT,
    ListenerKind,
    NodePeer,
    Peer,
    introduced,
    is_coordinator,
)
from millstream_runtime.serving.security import nodes_first
from millstream_runtime.serving.server import RequestContext, Server
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.messages import ApiVersionsRequest, HeartbeatRequest, HeartbeatResponse

COORDINATOR = NodePeer(Role.COORDINATOR, NodeId(10_001))


def met(request: ApiVersionsRequest, client_id: str | None = None) -> NodePeer | None:
    return introduced(decode(ApiVersionsRequest, 4, encode(request, 4)), client_id)


@pytest.mark.parametrize(
    ("node_id", "role"),
    [(0, Role.BROKER), (9_999, Role.BROKER), (10_001, Role.COORDINATOR), (20_000, Role.CONTROLLER)],
)
def test_a_node_says_its_id_which_implies_its_role(node_id: int, role: Role) -> None:
    assert met(ApiVersionsRequest(sender_node_id=node_id)) == NodePeer(role, NodeId(node_id))


@pytest.mark.parametrize("node_id", [-1, -7, 30_000, 2**31 - 1])
def test_no_such_id_is_no_node(node_id: int) -> None:
    assert met(ApiVersionsRequest(sender_node_id=node_id)) is None


@pytest.mark.parametrize(
    ("client_id", "peer"),
    [
        ("broker-0", NodePeer(Role.BROKER, NodeId(0))),
        ("broker-12", NodePeer(Role.BROKER, NodeId(12))),
        ("coordinator-10001", COORDINATOR),
        ("__coordinator-10001", COORDINATOR),
        ("coordinator-1", COORDINATOR),
        ("controller-20002", NodePeer(Role.CONTROLLER, NodeId(20_002))),
        ("coordinator-0", NodePeer(Role.COORDINATOR, NodeId(10_000))),
        ("coordinator-20001", None),
        ("broker-10001", None),
        ("coordinator-", None),
        ("coordinator-x", None),
        ("my-coordinator-1", None),
        ("10001", None),
        ("", None),
        (None, None),
    ],
)
def test_nodes_of_the_first_release_are_known_by_their_client_id(client_id: str | None, peer: NodePeer | None) -> None:
    assert met(ApiVersionsRequest(client_software_name="millstream"), client_id) == peer
    other = ApiVersionsRequest(client_software_name="librdkafka")
    assert met(other, client_id) is None, "another software may call itself what it likes"


def test_only_coordinators_are_coordinators() -> None:
    peers: list[Peer] = [ANONYMOUS_CLIENT, NodePeer(Role.BROKER, NodeId(1)), COORDINATOR]
    assert [is_coordinator(peer) for peer in peers] == [False, False, True]


class App:
    def __init__(self) -> None:
        self.peers: list[Peer] = []


def note(app: App, request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    app.peers.append(context.peer)
    return HeartbeatResponse()


@pytest.mark.parametrize(
    ("kind", "node_id", "client_id", "peer"),
    [
        (ListenerKind.NODES, NodeId(10_001), "c", COORDINATOR),
        (ListenerKind.NODES, NO_NODE, "c", ANONYMOUS_CLIENT),
        (ListenerKind.NODES, NO_NODE, "__coordinator-10001", COORDINATOR),
        (ListenerKind.CLIENTS, NodeId(10_001), "c", ANONYMOUS_CLIENT),
        (ListenerKind.CLIENTS, NO_NODE, "__coordinator-10001", ANONYMOUS_CLIENT),
    ],
)
def test_a_listener_for_clients_believes_nobody(
    hosts, kind: ListenerKind, node_id: NodeId, client_id: str, peer: Peer
) -> None:
    async def scenario() -> None:
        app = App()
        server = Server("s", {ApiKey.HEARTBEAT: serve(HeartbeatRequest, note)}, app, hosts.world("server"))
        listener = await server.listen(hosts.address("server"), 0, kind=kind)
        address = (hosts.address("server"), listener.port)
        client = await Client.connect(hosts.world("client"), *address, client_id=client_id, node_id=node_id)
        await client.request(HeartbeatRequest(), timeout_ms=5_000)
        assert app.peers == [peer]
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_who_has_met_cannot_become_another(hosts) -> None:
    async def scenario() -> None:
        app = App()
        server = Server("s", {ApiKey.HEARTBEAT: serve(HeartbeatRequest, note)}, app, hosts.world("server"))
        listener = await server.listen(hosts.address("server"), 0)
        address = (hosts.address("server"), listener.port)
        client = await Client.connect(hosts.world("client"), *address, client_id="c")
        late = ApiVersionsRequest(client_software_name="x", client_software_version="1", sender_node_id=10_001)
        await client.request(late, timeout_ms=5_000)
        await client.request(HeartbeatRequest(), timeout_ms=5_000)
        assert app.peers == [ANONYMOUS_CLIENT]
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_the_listener_of_nodes_is_one_of_the_listeners_and_comes_first() -> None:
    def read(**values: str):
        properties = Properties({key.replace("_", "."): value for key, value in values.items()})
        listeners, _ = listeners_of(properties, "A://h:1")
        return nodes_first(properties, listeners)

    assert [each.name for each in read(listeners="A://h:1,B://h:2")[0]] == ["A", "B"]
    listeners, name = read(listeners="A://h:1,B://h:2", inter_broker_listener_name="B")
    assert ([each.name for each in listeners], name) == (["B", "A"], "B")
    with pytest.raises(PropertyError, match=r"inter\.broker\.listener\.name must be the name of one of listeners"):
        read(listeners="A://h:1", inter_broker_listener_name="B")
