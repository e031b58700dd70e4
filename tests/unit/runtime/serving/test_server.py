"""Dispatch over both networks: order, versions, errors, back-pressure."""

import asyncio
import logging

import pytest

from millstream_runtime.network.channel import ChannelUser
from millstream_runtime.network.links import Limits
from millstream_runtime.nodes.client import Client, Disconnected, Nodes, RequestTimedOut
from millstream_runtime.serving.api_versions import Features
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import RawReply, Server
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import decode, encode
from millstream_wire.header import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from millstream_wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


class App:
    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Future] = {}
        self.seen: list[str] = []
        self.closed: list[int] = []


def heartbeat(app: App, request: HeartbeatRequest, context) -> object:
    app.seen.append(request.group_id)
    if request.group_id == "fails":
        raise RuntimeError("a bug")
    if request.group_id == "silent":
        return None
    if request.group_id == "remembered":
        context.connection.at_close.append(lambda: app.closed.append(context.connection.number))
    if request.group_id.startswith("mute"):
        context.connection.mute(request.generation_id)
    if request.group_id.startswith("later"):
        gate = app.gates[request.group_id] = asyncio.get_running_loop().create_future()
        return gate
    return HeartbeatResponse(error_code=len(request.group_id))


async def metadata(app: App, request: MetadataRequest, context) -> MetadataResponse:
    await asyncio.sleep(0.01)
    return MetadataResponse(cluster_id=context.client_id)


def unregister(app: App, request: UnregisterBrokerRequest, context) -> RawReply:
    assert bytes(context.frame[:2]) == (64).to_bytes(2, "big")
    body = encode(UnregisterBrokerResponse(error_code=request.broker_id), context.version)
    return RawReply([b"\x00" + body])


HANDLERS = {
    ApiKey.HEARTBEAT: serve(HeartbeatRequest, heartbeat),
    ApiKey.METADATA: serve(MetadataRequest, metadata),
    ApiKey.UNREGISTER_BROKER: serve(UnregisterBrokerRequest, unregister),
}


async def started(hosts, app: App, handlers=HANDLERS, **options) -> tuple[Server, str, int]:
    server = Server("broker-1", handlers, app, hosts.world("server"), **options)
    listener = await server.listen(hosts.address("server"), 0)
    return server, hosts.address("server"), listener.port


def heartbeat_shortcut(app: App, frame: memoryview, position: int, context) -> object:
    group_id = decode(HeartbeatRequest, context.version, frame, position).group_id
    if group_id == "fails":
        raise RuntimeError("a bug")
    if group_id == "bytes":
        return encode_response_header(12, context.version, context.correlation_id) + encode(
            HeartbeatResponse(error_code=101), context.version
        )
    if group_id == "waits":
        gate = app.gates[group_id] = asyncio.get_running_loop().create_future()
        return gate
    return None if group_id.startswith("unusual") else HeartbeatResponse(error_code=100)


SHORT = HANDLERS | {ApiKey.HEARTBEAT: serve(HeartbeatRequest, heartbeat, shortcut=heartbeat_shortcut)}


def test_a_shortcut_is_asked_before_the_handler(hosts) -> None:
    async def scenario() -> None:
        app = App()
        server, host, port = await started(hosts, app, SHORT)
        client = await Client.connect(hosts.world("client"), host, port, client_id="me")
        assert (await client.request(HeartbeatRequest(group_id="abc"), timeout_ms=1000)).error_code == 100
        assert (await client.request(HeartbeatRequest(group_id="bytes"), timeout_ms=1000)).error_code == 101
        assert (await client.request(HeartbeatRequest(group_id="unusual"), timeout_ms=1000)).error_code == 7
        assert (await client.request(MetadataRequest(), timeout_ms=1000)).cluster_id == "me"
        assert app.seen == ["unusual"]
        with pytest.raises(Disconnected):
            await client.request(HeartbeatRequest(group_id="fails"), timeout_ms=1000)
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_a_shortcut_may_answer_later_and_its_place_is_kept(hosts) -> None:
    async def scenario() -> None:
        app = App()
        server, host, port = await started(hosts, app, SHORT)
        client = await Client.connect(hosts.world("client"), host, port, client_id="me")
        asked = [
            asyncio.ensure_future(client.request(HeartbeatRequest(group_id=group), timeout_ms=5000))
            for group in ("waits", "bytes")
        ]
        assert await settled(lambda: "waits" in app.gates)
        app.gates["waits"].set_result(HeartbeatResponse(error_code=102))
        assert [(await each).error_code for each in asked] == [102, 101]
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_a_handler_may_answer_with_all_the_bytes_now_or_later(hosts) -> None:
    def in_bytes(app: App, request: HeartbeatRequest, context) -> object:
        answer = encode_response_header(12, context.version, context.correlation_id) + encode(
            HeartbeatResponse(error_code=len(request.group_id)), context.version
        )
        if request.group_id != "later":
            return answer
        gate = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(gate.set_result, answer)
        return gate

    async def scenario() -> None:
        handlers = {ApiKey.HEARTBEAT: serve(HeartbeatRequest, in_bytes)}
        server, host, port = await started(hosts, App(), handlers)
        client = await Client.connect(hosts.world("client"), host, port, client_id="me")
        for group in ("now", "later"):
            answer = await client.request(HeartbeatRequest(group_id=group), timeout_ms=1000)
            assert answer.error_code == len(group)
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_a_row_under_another_api_is_refused(hosts) -> None:
    server = Server("broker-1", {ApiKey.METADATA: serve(HeartbeatRequest, heartbeat)}, App(), hosts.world("server"))
    with pytest.raises(AssertionError, match="METADATA is served as HeartbeatRequest"):
        server.route(ApiKey.METADATA)


def test_requests_are_answered_whatever_the_kind_of_handler(hosts) -> None:
    async def scenario() -> None:
        server, host, port = await started(hosts, App())
        client = await Client.connect(hosts.world("client"), host, port, client_id="me")
        assert (await client.request(HeartbeatRequest(group_id="abc"), timeout_ms=1000)).error_code == 3
        assert (await client.request(MetadataRequest(), timeout_ms=1000)).cluster_id == "me"
        assert (await client.request(UnregisterBrokerRequest(broker_id=7), timeout_ms=1000)).error_code == 7
        await client.close()
        await server.close()
        assert server.connections == 0 or await settled(lambda: server.connections == 0)

    hosts.run(scenario())


async def settled(condition) -> bool:
    for _ in range(200):
        if condition():
            return True
        await asyncio.sleep(0.01)
    return False


def test_a_muted_client_is_answered_and_then_not_read_for_that_time(hosts) -> None:
    async def scenario() -> None:
        app, world = App(), hosts.world("client")
        server, host, port = await started(hosts, app, limits=Limits(pending_requests_max=2))
        client = await Client.connect(world, host, port, client_id="me")
        began_ms = world.monotonic_ms()
        muted = client.request(HeartbeatRequest(group_id="mute", generation_id=300), timeout_ms=9000)
        following = [client.request(HeartbeatRequest(group_id="x" * n), timeout_ms=9000) for n in range(1, 6)]
        answers = [asyncio.ensure_future(each) for each in (muted, *following)]
        assert (await answers[0]).error_code == 4
        assert [answer.error_code for answer in await asyncio.gather(*answers[1:])] == [1, 2, 3, 4, 5]
        assert world.monotonic_ms() - began_ms >= 299
        await client.request(HeartbeatRequest(group_id="mute", generation_id=100_000), timeout_ms=9000)
        with pytest.raises(RequestTimedOut):
            await client.request(HeartbeatRequest(group_id="unheard"), timeout_ms=500)
        assert "unheard" not in app.seen
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_answers_keep_the_order_of_the_requests(hosts) -> None:
    async def scenario() -> None:
        app = App()
        server, host, port = await started(hosts, app)
        client = await Client.connect(hosts.world("client"), host, port, client_id="me")
        names = ["later-1", "x", "later-2", "yy"]
        answers = [
            asyncio.create_task(client.request(HeartbeatRequest(group_id=name), timeout_ms=5000)) for name in names
        ]
        assert await settled(lambda: len(app.gates) == 2)
        app.gates["later-2"].set_result(HeartbeatResponse(error_code=22))
        await asyncio.sleep(0.05)
        assert not any(answer.done() for answer in answers)
        app.gates["later-1"].set_result(HeartbeatResponse(error_code=11))
        assert [answer.error_code for answer in await asyncio.gather(*answers)] == [11, 1, 22, 2]
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_a_forwarded_frame_is_answered_like_the_original(hosts) -> None:
    async def scenario() -> None:
        server, host, port = await started(hosts, App())
        nodes = Nodes(hosts.world("client"), client_id="node")
        header = RequestHeader(api_key=12, version=4, correlation_id=999, client_id="original")
        frame = encode_request_header(header) + encode(HeartbeatRequest(group_id="four"), 4)
        answer = await nodes.forward(host, port, frame, timeout_ms=1000)
        assert decode(HeartbeatResponse, 4, answer[1:]).error_code == 4
        await nodes.close()
        await server.close()

    hosts.run(scenario())


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 77])
def test_api_versions_is_answered_in_every_version(hosts, version: int) -> None:
    features = Features(supported={"group.version": (0, 1)}, finalized={"group.version": 1}, epoch=5)

    async def scenario() -> ApiVersionsResponse:
        server, host, port = await started(
            hosts, App(), unadvertised={ApiKey.UNREGISTER_BROKER}, features=lambda: features
        )
        raw = await RawPeer.connect(hosts, host, port)
        body = encode(ApiVersionsRequest(client_software_name="a", client_software_version="1"), min(version, 4))
        raw.send(encode_request_header(RequestHeader(api_key=18, version=version, correlation_id=3)) + body)
        answer = await raw.receive()
        correlation_id, position = decode_response_header(18, version, answer)
        assert correlation_id == 3
        raw.channel.close()
        await server.close()
        return decode(ApiVersionsResponse, version if version <= 4 else 0, memoryview(answer)[position:])

    response = hosts.run(scenario())
    assert response.error_code == (35 if version > 4 else 0)
    offered = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    assert offered == {
        12: API[ApiKey.HEARTBEAT].versions,
        3: API[ApiKey.METADATA].versions,
        18: API[ApiKey.API_VERSIONS].versions,
    }
    assert [each.name for each in response.supported_features] == (["group.version"] if version == 4 else [])
    assert response.finalized_features_epoch == (5 if 3 <= version <= 4 else -1)


class RawPeer(ChannelUser):
    """A client that sends what it likes."""

    def __init__(self, channel) -> None:
        self.channel = channel
        self.frames: asyncio.Queue = asyncio.Queue()

    @classmethod
    async def connect(cls, hosts, host: str, port: int) -> "RawPeer":
        peers = []

        def use(channel) -> RawPeer:
            peers.append(cls(channel))
            return peers[0]

        await hosts.world("client").network.connect(host, port, use)
        return peers[0]

    def on_frame(self, frame: memoryview) -> None:
        self.frames.put_nowait(bytes(frame))

    def on_closed(self, reason: str) -> None:
        self.frames.put_nowait(None)

    def send(self, frame: bytes) -> None:
        self.channel.send([frame])

    async def receive(self) -> bytes | None:
        return await asyncio.wait_for(self.frames.get(), 5)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"\x00", "request header"),
        (encode_request_header(RequestHeader(api_key=999, version=0, correlation_id=1)), "unknown api key 999"),
        (encode_request_header(RequestHeader(api_key=12, version=99, correlation_id=1)), "version 99 is not served"),
        (encode_request_header(RequestHeader(api_key=12, version=0, correlation_id=1)) + b"\xff" * 9, "Heartbeat"),
    ],
)
def test_what_makes_no_sense_closes_the_connection_with_one_line(hosts, caplog, frame: bytes, reason: str) -> None:
    caplog.set_level(logging.INFO)

    async def scenario() -> None:
        server, host, port = await started(hosts, App())
        raw = await RawPeer.connect(hosts, host, port)
        raw.send(frame)
        assert await raw.receive() is None
        await server.close()

    hosts.run(scenario())
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert reason in caplog.text


def test_an_api_versions_of_a_version_to_come_is_answered_whatever_follows(hosts) -> None:
    async def scenario() -> None:
        server, host, port = await started(hosts, App())
        raw = await RawPeer.connect(hosts, host, port)
        raw.send(b"\x00\x12\x00\x4d\x00\x00\x00\x05\xff\xff\xee")
        answer = await raw.receive()
        assert answer[:6] == b"\x00\x00\x00\x05\x00\x23"
        await server.close()

    hosts.run(scenario())


def test_a_handler_that_raises_closes_only_its_connection(hosts, caplog) -> None:
    async def scenario() -> None:
        server, host, port = await started(hosts, App())
        nodes, other = Nodes(hosts.world("a"), client_id="a"), Nodes(hosts.world("b"), client_id="b")
        await other.request(host, port, HeartbeatRequest(group_id="x"), timeout_ms=1000)
        with pytest.raises(Disconnected):
            await nodes.request(host, port, HeartbeatRequest(group_id="fails"), timeout_ms=1000)
        assert (await other.request(host, port, HeartbeatRequest(group_id="x"), timeout_ms=1000)).error_code == 1
        assert (await nodes.request(host, port, HeartbeatRequest(group_id="xy"), timeout_ms=1000)).error_code == 2
        await nodes.close()
        await other.close()
        await server.close()

    hosts.run(scenario())
    assert caplog.text.count("request failed") == 1
    assert "a bug" in caplog.text


def test_no_answer_in_time_closes_the_connection(hosts) -> None:
    async def scenario() -> None:
        app = App()
        server, host, port = await started(hosts, app)
        client = await Client.connect(hosts.world("client"), host, port, client_id="me")
        with pytest.raises(RequestTimedOut):
            await client.request(HeartbeatRequest(group_id="later"), timeout_ms=50)
        assert await settled(lambda: app.gates["later"].cancelled())
        with pytest.raises(Disconnected):
            await client.request(HeartbeatRequest(group_id="x"), timeout_ms=50)
        await server.close()

    hosts.run(scenario())


def test_a_connection_with_too_much_under_way_is_not_read(hosts) -> None:
    async def scenario() -> None:
        app = App()
        server, host, port = await started(hosts, app, limits=Limits(pending_requests_max=3))
        client = await Client.connect(hosts.world("client"), host, port, client_id="me")
        names = [f"later-{number}" for number in range(10)]
        answers = [
            asyncio.create_task(client.request(HeartbeatRequest(group_id=name), timeout_ms=5000)) for name in names
        ]
        await settled(lambda: len(app.seen) >= 3)
        await asyncio.sleep(0.05)
        assert app.seen == names[:3]
        for name in names:
            assert await settled(lambda name=name: name in app.gates)
            app.gates[name].set_result(HeartbeatResponse(error_code=1))
        await asyncio.gather(*answers)
        await client.close()
        await server.close()

    hosts.run(scenario())


def test_a_node_that_is_not_there_is_a_disconnect(hosts) -> None:
    async def scenario() -> None:
        nodes = Nodes(hosts.world("client"), client_id="me")
        with pytest.raises(Disconnected):
            await nodes.request(hosts.address("server"), 1, HeartbeatRequest(), timeout_ms=1000)
        await nodes.close()

    hosts.run(scenario())


def test_requests_are_counted(hosts) -> None:
    async def scenario() -> str:
        world = hosts.world("server")
        server = Server("broker-1", HANDLERS, App(), world)
        listener = await server.listen(hosts.address("server"), 0)
        client = await Client.connect(hosts.world("client"), hosts.address("server"), listener.port, client_id="me")
        await client.request(HeartbeatRequest(group_id="abc"), timeout_ms=1000)
        text = world.metrics.text()
        await client.close()
        await server.close()
        return text

    text = hosts.run(scenario())
    assert 'millstream_request_seconds_count{api="Heartbeat",server="broker-1"} 1.0' in text
    assert 'millstream_connections{server="broker-1"} 1.0' in text


def test_what_handlers_keep_on_account_of_a_connection_ends_with_it(hosts) -> None:
    async def scenario() -> None:
        app = App()
        server, host, port = await started(hosts, app)
        first = await Client.connect(hosts.world("client"), host, port, client_id="me")
        second = await Client.connect(hosts.world("client"), host, port, client_id="me")
        for client in (first, second):
            await client.request(HeartbeatRequest(group_id="remembered"), timeout_ms=1000)
        assert app.closed == []
        await first.close()
        assert await settled(lambda: app.closed == [1])
        await server.close()
        assert await settled(lambda: app.closed == [1, 2])
        await second.close()

    hosts.run(scenario())
