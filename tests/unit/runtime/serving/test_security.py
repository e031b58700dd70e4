"""Which listener speaks what, and by which one nodes meet: from Kafka's properties, with clear words where they do not fit."""

import asyncio
import logging

import pytest
from certificates import Authority

from millstream_cluster.ids import NO_NODE, NodeId
from millstream_cluster.image.acls import AclsImage
from millstream_cluster.principal import ANONYMOUS
from millstream_cluster.records import Endpoint
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Nodes
from millstream_runtime.nodes.credentials import PLAIN
from millstream_runtime.properties import Properties, PropertyError
from millstream_runtime.serving.authorization import authorizer_config_of, authorizer_of
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.listeners import advertise, listen_on, listeners_of
from millstream_runtime.serving.peer import ClientPeer, NodePeer, Peer
from millstream_runtime.serving.security import Security, controller_security_of, nodes_first, security_of
from millstream_runtime.serving.server import RequestContext, Server
from millstream_runtime.world import RealWorld
from millstream_security.authorization.authorizer import Authorizer
from millstream_security.protocol import SecurityProtocol
from millstream_wire.api import ApiKey
from millstream_wire.messages import HeartbeatRequest, HeartbeatResponse

MAP = "listener.security.protocol.map"
OWN, OTHER = "CN=node,O=Example", "CN=client,O=Example"


def told(**given: object) -> Properties:
    return Properties({key.replace("_", "."): str(value) for key, value in given.items()})


def secured(properties: Properties) -> Security:
    listeners, _ = listeners_of(properties, "PLAINTEXT://127.0.0.1:9092")
    listeners, name = nodes_first(properties, listeners)
    security = security_of(properties, listeners, name)
    properties.refuse_unknown()
    return security


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def files(ca: Authority) -> dict[str, object]:
    node = ca.issue(OWN, "127.0.0.1", "node.example")
    return {"ssl.keystore.location": node.file, "ssl.truststore.location": ca.file, "ssl.client.auth": "required"}


def test_nothing_said_is_plain() -> None:
    security = secured(told())
    assert not security.asks_for_credentials
    assert (security.nodes.wrap("x"), security.controllers) == (None, PLAIN)


def test_each_listener_has_its_own_protocol(files: dict[str, object]) -> None:
    listeners = "A://h:1,SSL://h:2,NODES://h:3"
    protocols = {MAP: "A:PLAINTEXT,SSL:ssl,NODES:SSL,CONTROLLER:SSL"}
    inter = {"inter.broker.listener.name": "NODES"}
    security = secured(told(listeners=listeners, **protocols, **inter, **files))
    assert {name: guard.security.protocol.name for name, guard in security.guards.items()} == {
        "NODES": "SSL",
        "A": "PLAINTEXT",
        "SSL": "SSL",
    }
    assert security.guard("A").tls is None
    assert security.guard("NODES").tls is not None
    assert security.nodes.wrap("x") is not None
    assert security.controllers.wrap("x") is not None
    assert security.asks_for_credentials


def test_settings_of_one_listener_are_its_own(files: dict[str, object]) -> None:
    own = {f"listener.name.ssl.{key}": value for key, value in files.items()}
    security = secured(told(listeners="SSL://h:1", **own))
    assert security.guard("SSL").tls is not None
    shared = {"listener.name.elsewhere.ssl.client.auth": "none", MAP: "SSL:SSL,ELSEWHERE:SSL"}
    secured(told(listeners="SSL://h:1", **own, **shared))
    with pytest.raises(PropertyError, match=r"unknown property listener\.name\.typo\.ssl\.client\.auth"):
        secured(told(listeners="SSL://h:1", **own, **{"listener.name.typo.ssl.client.auth": "none"}))


def test_the_listener_for_nodes_may_be_named_by_its_protocol(files: dict[str, object]) -> None:
    given = {"listeners": "PLAINTEXT://h:1,SSL://h:2", **files}
    key = "security.inter.broker.protocol"
    assert secured(told(**given, **{key: "SSL"})).nodes.protocol is SecurityProtocol.SSL
    assert secured(told(**given)).nodes.protocol is SecurityProtocol.PLAINTEXT
    for wrong, message in (
        ({key: "SASL_SSL"}, "none of listeners speaks that"),
        ({key: "TLS"}, r"security\.inter\.broker\.protocol must name one of PLAINTEXT, SSL"),
        ({key: "SSL", "inter.broker.listener.name": "SSL"}, "exclude each other"),
    ):
        with pytest.raises(PropertyError, match=message):
            secured(told(**given, **wrong))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"listeners": "TLS://h:1"}, r"protocol\.map must say what the listener TLS speaks: add TLS:SSL"),
        ({"listeners": "A://h:1", MAP: "B:SSL"}, "must say what the listener A speaks"),
        (
            {"listeners": "A://h:1", MAP: "A:TLS"},
            "must name one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, not 'TLS'",
        ),
        ({"listeners": "A://h:1", MAP: "A"}, "NAME:PROTOCOL,NAME:PROTOCOL, not 'A'"),
        (
            {"listeners": "SSL://h:1"},
            r"the listener SSL speaks TLS and has no certificate: set ssl\.keystore\.location",
        ),
        ({"listeners": "PLAINTEXT://h:1", "controller.listener.names": ""}, r"controller\.listener\.names must name"),
        ({"controller.listener.names": "C", MAP: "PLAINTEXT:PLAINTEXT"}, "must say what the listener C speaks"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(given: dict[str, str], message: str) -> None:
    with pytest.raises(PropertyError, match=message):
        secured(Properties(given))


SHIPPED = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"


@pytest.mark.parametrize(
    ("given", "asks"),
    [
        ({MAP: SHIPPED}, False),
        ({MAP: SHIPPED, "sasl.enabled.mechanisms": "PLAIN"}, True),
        ({MAP: f"{SHIPPED},OUTSIDE:SSL"}, True),
        ({MAP: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL"}, True),
    ],
)
def test_the_map_that_kafka_ships_closes_nothing_by_itself(given: dict[str, str], asks: bool) -> None:
    properties = Properties({"listeners": "PLAINTEXT://h:1", **given})
    listeners, _ = listeners_of(properties, "PLAINTEXT://127.0.0.1:9092")
    assert security_of(properties, listeners).asks_for_credentials is asks


def test_controllers_reach_each_other_as_they_are_reached(files: dict[str, object]) -> None:
    properties = told(**{MAP: "C:SSL"}, **files)
    security = controller_security_of(properties, Endpoint("C", "h", 1))
    assert security.guard("C").tls is not None
    assert security.controllers.protocol is SecurityProtocol.SSL


async def handle(app: list[Peer], request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    app.append(context.peer)
    return HeartbeatResponse()


HANDLERS = {ApiKey.HEARTBEAT: serve(HeartbeatRequest, handle)}
REQUEST = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


def knows_nodes() -> Authorizer | None:
    config = authorizer_config_of(told(super_users=f"User:{OWN};User:x"), has_credentials=True)
    return authorizer_of(config, AclsImage)


def test_a_node_is_one_by_its_certificate_and_not_by_its_word(ca: Authority, files: dict[str, object]) -> None:
    """Both say that they are broker 7; only one has a certificate that a node may have."""
    mine = secured(told(listeners="SSL://127.0.0.1:0", **files))
    stranger = {**files, "ssl.keystore.location": ca.issue(OTHER, "127.0.0.1").file}
    theirs = secured(told(listeners="SSL://127.0.0.1:0", **stranger))
    peers: list[Peer] = []

    async def scenario() -> None:
        world = RealWorld(SocketNetwork())
        server = Server("server", HANDLERS, peers, world, authorizer=knows_nodes())
        listening = await listen_on(server, [Endpoint("SSL", "127.0.0.1", 0)], security=mine)
        for security in (mine, theirs):
            nodes = Nodes(world, client_id="broker-7", node_id=NodeId(7), credentials=security.nodes)
            await nodes.request(*listening["SSL"], REQUEST, timeout_ms=5_000)
            await nodes.close()
        await server.close()

    asyncio.run(scenario())
    assert peers[0] == NodePeer.of(NodeId(7))
    assert isinstance(peers[1], ClientPeer)
    assert str(peers[1].principal) == f"User:{OTHER}"


def test_the_roles_of_a_process_meet_where_they_listen_under_the_name_that_they_advertise(
    files: dict[str, object],
) -> None:
    security = secured(told(listeners="SSL://127.0.0.1:0", **files))
    peers: list[Peer] = []

    async def scenario() -> None:
        world = RealWorld(SocketNetwork())
        server = Server("server", HANDLERS, peers, world, authorizer=knows_nodes())
        listening = await listen_on(server, [Endpoint("SSL", "127.0.0.1", 0)], security=security)
        told_others = advertise(world, listening, [Endpoint("SSL", "node.example", 9999)], security)
        assert [each.protocol for each in told_others] == [SecurityProtocol.SSL]
        nodes = Nodes(world, client_id="c", node_id=NodeId(7), credentials=security.nodes)
        await nodes.request("node.example", 9999, REQUEST, timeout_ms=5_000)
        await nodes.close()
        await server.close()

    asyncio.run(scenario())
    assert peers == [NodePeer.of(NodeId(7))]


@pytest.mark.parametrize(
    ("host", "supers", "is_node"),
    [("127.0.0.1", "User:x", True), ("0.0.0.0", "User:x", False), ("0.0.0.0", "User:ANONYMOUS", True)],
)
def test_on_a_plain_listener_the_word_of_another_machine_counts_for_nothing_where_there_are_rights(
    host: str, supers: str, is_node: bool
) -> None:
    peers: list[Peer] = []

    async def scenario() -> None:
        world = RealWorld(SocketNetwork())
        config = authorizer_config_of(told(super_users=supers), has_credentials=True)
        server = Server("server", HANDLERS, peers, world, authorizer=authorizer_of(config, AclsImage))
        listening = await listen_on(server, [Endpoint("PLAINTEXT", host, 0)])
        nodes = Nodes(world, client_id="broker-7", node_id=NodeId(7))
        await nodes.request("127.0.0.1", listening["PLAINTEXT"][1], REQUEST, timeout_ms=5_000)
        await nodes.close()
        await server.close()

    asyncio.run(scenario())
    assert [isinstance(peer, NodePeer) for peer in peers] == [is_node]


def test_tls_without_certificates_of_clients_leaves_everybody_anonymous(files: dict[str, object]) -> None:
    """Where no authorizer asks who anybody is, a node is believed there as on a plain listener."""
    security = secured(told(listeners="SSL://127.0.0.1:0", **(files | {"ssl.client.auth": "none"})))
    assert not security.guard("SSL").is_set
    assert security.asks_for_credentials, "there is an authorizer unless it is said that there is none"
    peers: list[Peer] = []

    async def scenario() -> None:
        world = RealWorld(SocketNetwork())
        server = Server("server", HANDLERS, peers, world)
        listening = await listen_on(server, [Endpoint("SSL", "127.0.0.1", 0)], security=security)
        for node_id in (NodeId(7), NO_NODE):
            nodes = Nodes(world, client_id="c", node_id=node_id, credentials=security.nodes)
            await nodes.request(*listening["SSL"], REQUEST, timeout_ms=5_000)
            await nodes.close()
        await server.close()

    asyncio.run(scenario())
    assert peers == [NodePeer.of(NodeId(7)), ClientPeer(ANONYMOUS)]


def test_a_plain_listener_that_others_reach_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = Server("server", HANDLERS, [], RealWorld(SocketNetwork()))
        endpoints = [Endpoint("OPEN", "0.0.0.0", 0), Endpoint("OWN", "127.0.0.1", 0)]
        await listen_on(server, endpoints)
        await server.close()

    caplog.set_level(logging.WARNING)
    asyncio.run(scenario())
    assert [record.message.split(" address")[0] for record in caplog.records] == [
        "listener is open to everybody listener=OPEN"
    ]


def test_a_controller_that_writes_to_brokers_shows_them_what_nodes_show(files: dict[str, object]) -> None:
    given = {MAP: "C:SSL,IN:SSL", "inter.broker.listener.name": "IN"}
    for writes, protocol in ((False, SecurityProtocol.PLAINTEXT), (True, SecurityProtocol.SSL)):
        security = controller_security_of(told(**given, **files), Endpoint("C", "h", 1), writes_to_brokers=writes)
        assert security.nodes.protocol is protocol


def test_whom_tls_does_not_let_in_is_said_in_the_audit_log(
    files: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    """A plain request, a thousand times: said once, and how often."""
    caplog.set_level(logging.INFO, "millstream.audit")
    security = secured(told(listeners="SSL://127.0.0.1:0", **files))

    async def scenario() -> None:
        world = RealWorld(SocketNetwork())
        server = Server("server", HANDLERS, [], world)
        listening = await listen_on(server, [Endpoint("SSL", "127.0.0.1", 0)], security=security)
        for _ in range(1_000):
            reader, writer = await asyncio.open_connection(*listening["SSL"])
            writer.write(b"\0\0\0\4plain")
            await reader.read()
            writer.close()
        await server.close()

    asyncio.run(scenario())
    line = "handshake failed principal=User:ANONYMOUS host=127.0.0.1 listener=SSL reason=WRONG_VERSION_NUMBER"
    said = [record.getMessage() for record in caplog.records if record.name == "millstream.audit.authentication"]
    assert said == [line, f"{line} repeated=999"]
