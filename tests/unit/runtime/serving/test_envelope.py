"""What a client asks one node and another does: in that client's name, or not at all."""

import asyncio

import pytest

from millstream_cluster.ids import NO_NODE, NodeId
from millstream_cluster.image.acls import AclsImage
from millstream_cluster.principal import ANONYMOUS, Principal
from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import QuotaEntity, QuotaEntityType
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client, ForwardingRefused
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.serving.context import Connection, RawReply, RequestContext
from millstream_runtime.serving.envelope import opening, sealed
from millstream_runtime.serving.handlers import Handlers, serve
from millstream_runtime.serving.peer import ClientPeer, ListenerKind, NodePeer, Peer
from millstream_runtime.serving.request_time import RequestTime
from millstream_runtime.serving.server import Server
from millstream_runtime.world import RealWorld
from millstream_security.authorization.authorizer import Authorizer, AuthorizerConfig
from millstream_wire.api import ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.errors import ErrorCode
from millstream_wire.header import RequestHeader, encode_request_header
from millstream_wire.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    EnvelopeRequest,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicResult

PORT = 9093
ALICE = ClientPeer(Principal("User", "alice"))
BROKER = NodeId(3)


class Controller:
    def __init__(self, *, active: bool = True) -> None:
        self.active = active
        self.seen: list[tuple[Peer, str, str | None]] = []
        """Peer, host and client id of each request that was executed."""


async def create(app: Controller, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
    await asyncio.sleep(0)
    if app.active:
        app.seen.append((context.peer, context.host, context.client_id))
    code = ErrorCode.NONE if app.active else ErrorCode.NOT_CONTROLLER
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=topic.name, error_code=code) for topic in request.topics]
    )


def unregister(app: Controller, request: UnregisterBrokerRequest, context: RequestContext) -> RawReply:
    app.seen.append((context.peer, context.host, context.client_id))
    return RawReply([b"\0", encode(UnregisterBrokerResponse(error_code=request.broker_id), context.version)])


FORWARDED: Handlers[Controller] = {
    ApiKey.CREATE_TOPICS: serve(CreateTopicsRequest, create),
    ApiKey.UNREGISTER_BROKER: serve(UnregisterBrokerRequest, unregister),
}
OPENING: Handlers[Controller] = {**FORWARDED, ApiKey.ENVELOPE: serve(EnvelopeRequest, opening(FORWARDED))}


async def start(hosts, app: Controller, handlers: Handlers[Controller] = OPENING, number: int = 0) -> tuple[str, int]:
    name = f"controller-{number}"
    await Server(name, handlers, app, hosts.world(name)).listen(name, PORT)
    return name, PORT


def framed(request, version: int, correlation_id: int = 77) -> bytes:
    header = RequestHeader(request.api_key, version, correlation_id, "theirs")
    return encode_request_header(header) + encode(request, version)


def asked(request, version: int, peer: Peer = ALICE, address: str = "10.0.0.7:4711") -> RequestContext:
    """As a broker's handler has it."""
    key, frame = ApiKey(request.api_key), framed(request, version)
    return RequestContext(key, version, 77, "theirs", frame, Connection(1, address, "PLAINTEXT", peer=peer), 0)


def topics(*names: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name) for name in names])


def told(reply: RawReply, version: int) -> CreateTopicsResponse:
    flexible = version >= 5
    return decode(CreateTopicsResponse, version, b"".join(map(bytes, reply.parts))[1 if flexible else 0 :])


@pytest.mark.parametrize("version", [2, 4, 5, 7])
@pytest.mark.parametrize(
    ("address", "host"), [("10.0.0.7:4711", "10.0.0.7"), ("[2001:db8::1]:4711", "2001:db8::1"), ("client-1:1", "")]
)
def test_the_controller_handles_it_in_the_clients_name(simulated_hosts, version: int, address: str, host: str) -> None:
    async def scenario() -> None:
        app = Controller()
        link = ControllerLink(
            simulated_hosts.world("b"), [await start(simulated_hosts, app)], client_id="x", node_id=BROKER
        )
        reply = await link.forward(asked(topics("a"), version, address=address), timeout_ms=5_000)
        assert [topic.name for topic in told(reply, version).topics] == ["a"]
        assert app.seen == [(ALICE, host, "theirs")]
        await link.close()

    simulated_hosts.run(scenario())


def test_a_part_is_forwarded_in_the_clients_name_too(simulated_hosts) -> None:
    async def scenario() -> None:
        app = Controller()
        link = ControllerLink(
            simulated_hosts.world("b"), [await start(simulated_hosts, app)], client_id="x", node_id=BROKER
        )
        answer = await link.forward_part(topics("a"), asked(topics("a", "b"), 7), timeout_ms=5_000)
        assert [topic.name for topic in answer.topics] == ["a"]
        assert [peer for peer, _, _ in app.seen] == [ALICE]
        await link.close()

    simulated_hosts.run(scenario())


def test_a_standby_says_so_inside_and_the_next_is_asked(simulated_hosts) -> None:
    async def scenario() -> None:
        standby, active = Controller(active=False), Controller()
        addresses = [await start(simulated_hosts, app, number=n) for n, app in enumerate((standby, active))]
        link = ControllerLink(simulated_hosts.world("b"), addresses, client_id="x", node_id=BROKER)
        reply = await link.forward(asked(topics("a"), 7), timeout_ms=5_000)
        assert told(reply, 7).topics[0].error_code == ErrorCode.NONE
        assert [peer for peer, _, _ in active.seen] == [ALICE]
        await link.close()

    simulated_hosts.run(scenario())


def test_a_controller_without_envelopes_gets_the_request_as_it_came(simulated_hosts) -> None:
    async def scenario() -> None:
        app = Controller()
        address = await start(simulated_hosts, app, FORWARDED)
        link = ControllerLink(simulated_hosts.world("b"), [address], client_id="x", node_id=BROKER)
        await link.forward(asked(topics("a"), 7), timeout_ms=5_000)
        ((peer, _, client_id),) = app.seen
        assert isinstance(peer, NodePeer)
        assert (peer.node_id, client_id) == (BROKER, "theirs")
        await link.close()

    simulated_hosts.run(scenario())


def test_what_a_node_asks_another_is_passed_on_in_the_nodes_name(simulated_hosts) -> None:
    async def scenario() -> None:
        app = Controller()
        link = ControllerLink(
            simulated_hosts.world("b"), [await start(simulated_hosts, app)], client_id="x", node_id=BROKER
        )
        await link.forward(asked(topics("a"), 7, peer=NodePeer.of(NodeId(10_001))), timeout_ms=5_000)
        assert [peer for peer, _, _ in app.seen] == [NodePeer.of(BROKER)]
        await link.close()

    simulated_hosts.run(scenario())


def test_a_controller_without_an_authorizer_does_nothing_for_clients_of_a_node_that_has_one(simulated_hosts) -> None:
    """A listener of its own that asks nobody for anything does not mean that everybody may do everything."""

    async def scenario() -> None:
        app = Controller()
        link = ControllerLink(
            simulated_hosts.world("b"), [await start(simulated_hosts, app)], client_id="x", node_id=BROKER
        )
        context = asked(topics("a"), 7)
        context.connection.authorizer = Authorizer(AuthorizerConfig(), AclsImage)
        with pytest.raises(ForwardingRefused) as refused:
            await link.forward(context, timeout_ms=5_000)
        assert refused.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert app.seen == []
        await link.close()

    simulated_hosts.run(scenario())


def test_clients_send_no_envelopes(simulated_hosts) -> None:
    async def scenario() -> None:
        app = Controller()
        address = await start(simulated_hosts, app)
        client = await Client.connect(simulated_hosts.world("c"), *address, client_id="x", node_id=NO_NODE)
        envelope = sealed(framed(topics("a"), 7), ClientPeer(ANONYMOUS), "10.0.0.7")
        answer = await client.request(envelope, timeout_ms=5_000)
        assert (answer.error_code, answer.response_data) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
        link = ControllerLink(simulated_hosts.world("c"), [address], client_id="x")
        with pytest.raises(ForwardingRefused) as refused:
            await link.forward(asked(topics("a"), 7), timeout_ms=5_000)
        assert refused.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert app.seen == []
        await client.close()
        await link.close()

    simulated_hosts.run(scenario())


@pytest.mark.parametrize(
    ("envelope", "code"),
    [
        (EnvelopeRequest(request_data=b""), ErrorCode.INVALID_REQUEST),
        (EnvelopeRequest(request_data=framed(topics("a"), 7)), ErrorCode.INVALID_REQUEST),
        (EnvelopeRequest(request_data=framed(topics("a"), 7), request_principal=None), ErrorCode.INVALID_REQUEST),
        (sealed(framed(topics("a"), 7)[:-1], ALICE, "10.0.0.7"), ErrorCode.INVALID_REQUEST),
        (sealed(b"\x7f\xff" + framed(topics("a"), 7)[2:], ALICE, ""), ErrorCode.INVALID_REQUEST),
        (sealed(framed(sealed(b"", ALICE, ""), 0), ALICE, ""), ErrorCode.INVALID_REQUEST),
        (sealed(framed(topics("a"), 7)[:2] + b"\0\x63" + framed(topics("a"), 7)[4:], ALICE, ""), 35),
    ],
)
def test_what_makes_no_sense_inside_is_refused(simulated_hosts, envelope: EnvelopeRequest, code: int) -> None:
    async def scenario() -> None:
        app = Controller()
        address = await start(simulated_hosts, app)
        node = await Client.connect(simulated_hosts.world("b"), *address, client_id="x", node_id=BROKER)
        answer = await node.request(envelope, timeout_ms=5_000)
        assert (answer.error_code, answer.response_data) == (code, None)
        wrong_address = sealed(framed(topics("a"), 7), ALICE, "10.0.0.7")
        wrong_address.client_host_address = b"five!"
        answer = await node.request(wrong_address, timeout_ms=5_000)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert app.seen == []
        await node.close()

    simulated_hosts.run(scenario())


def test_the_answer_has_the_header_that_the_client_waits_for(simulated_hosts) -> None:
    async def scenario() -> None:
        app = Controller()
        address = await start(simulated_hosts, app)
        node = await Client.connect(simulated_hosts.world("b"), *address, client_id="x", node_id=BROKER)
        frame = framed(UnregisterBrokerRequest(broker_id=9), 0, correlation_id=123)
        answer = await node.request(sealed(frame, ALICE, "10.0.0.7"), timeout_ms=5_000)
        assert answer.response_data[:5] == (123).to_bytes(4, "big") + b"\0"
        assert decode(UnregisterBrokerResponse, 0, answer.response_data, 5).error_code == 9
        await node.close()

    simulated_hosts.run(scenario())


def test_inside_an_envelope_nobody_is_a_node() -> None:
    seen: list[Connection] = []

    def note(app: None, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
        seen.append(context.connection)
        return CreateTopicsResponse()

    async def scenario() -> None:
        handle = opening({ApiKey.CREATE_TOPICS: serve(CreateTopicsRequest, note)})
        outside = asked(topics("a"), 7, peer=NodePeer.of(BROKER))
        pretended = sealed(framed(topics("a"), 7), ClientPeer(Principal("Node", "10001")), "10.0.0.7")
        await handle(None, pretended, outside)

    asyncio.run(scenario())
    (connection,) = seen
    assert connection.kind is ListenerKind.CLIENTS
    assert connection.peer == ClientPeer(Principal("Node", "10001"))


def test_the_time_of_what_was_passed_on_is_its_clients() -> None:
    windows = Windows(samples=2, window_ms=400)
    quotas = {(QuotaEntity(QuotaEntityType.USER, "alice"),): {"request_percentage": 1.0}}

    async def scenario() -> list[int]:
        world = RealWorld(SocketNetwork())

        async def slow(app: RequestTime, request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse:
            await asyncio.sleep(0)
            until = world.monotonic_s() + 0.02
            while world.monotonic_s() < until:
                pass
            return CreateTopicsResponse()

        counted = RequestTime(world, windows)
        counted.quota.configure(quotas)
        handle = opening({ApiKey.CREATE_TOPICS: serve(CreateTopicsRequest, slow)}, lambda app: app)
        told = []
        for peer in (ALICE, ClientPeer(Principal("User", "bob"))):
            outside = asked(topics("a"), 7, peer=NodePeer.of(BROKER))
            answer = await handle(counted, sealed(framed(topics("a"), 7), peer, "10.0.0.7"), outside)
            told.append(decode(CreateTopicsResponse, 7, answer.response_data, 5).throttle_time_ms)
        return told

    assert asyncio.run(scenario()) == [windows.window_ms, 0]
