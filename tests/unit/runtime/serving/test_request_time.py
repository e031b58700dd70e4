"""A quota of the loop's time: what counts, who waits, and what it costs while nobody has one."""

import asyncio
import time

import pytest

from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import QuotaEntity, QuotaEntityType
from millstream_runtime.network.links import Limits
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.nodes.client import Client
from millstream_runtime.serving.context import Deferred, RawReply
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_runtime.world import RealWorld
from millstream_wire.api import ApiKey
from millstream_wire.codec import encode
from millstream_wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

WINDOWS = Windows(samples=2, window_ms=400)
EVERYBODY = (QuotaEntity(QuotaEntityType.CLIENT_ID, None),)
ONE_PERCENT = {EVERYBODY: {"request_percentage": 1.0}}
"""Of 400 ms: 4 ms at once."""


class App:
    shortcuts = 0


def busy(milliseconds: float) -> None:
    until = time.monotonic() + milliseconds / 1000
    while time.monotonic() < until:
        pass


def heartbeat(app: App, request: HeartbeatRequest, context) -> object:
    busy(request.generation_id)
    response = HeartbeatResponse(throttle_time_ms=7)
    if request.group_id == "future":
        later: asyncio.Future = asyncio.get_running_loop().create_future()
        later.set_result(response)
        return later
    if request.group_id == "deferred":
        deferred = Later()
        asyncio.get_running_loop().call_soon(deferred.answer, response)
        return deferred
    return response


class Later(Deferred):
    def on_cancelled(self) -> None:
        """There is nothing to let go of."""


def heartbeat_shortcut(app: App, frame: memoryview, position: int, context) -> object:
    app.shortcuts += 1


async def metadata(app: App, request: MetadataRequest, context) -> MetadataResponse:
    await asyncio.sleep(0.05)
    if request.include_topic_authorized_operations:
        busy(10)
    try:
        await asyncio.wait_for(asyncio.sleep(1), 0.01)
    except TimeoutError:
        busy(1)
    return MetadataResponse()


def forwarded(app: App, request: UnregisterBrokerRequest, context) -> RawReply:
    busy(request.broker_id)
    return RawReply([b"\0" + encode(UnregisterBrokerResponse(error_code=42), context.version)])


HANDLERS = {
    ApiKey.HEARTBEAT: serve(HeartbeatRequest, heartbeat, shortcut=heartbeat_shortcut),
    ApiKey.METADATA: serve(MetadataRequest, metadata),
    ApiKey.UNREGISTER_BROKER: serve(UnregisterBrokerRequest, forwarded),
}
BUSY = {
    "at once": HeartbeatRequest(generation_id=10),
    "later": HeartbeatRequest(group_id="future", generation_id=10),
    "deferred": HeartbeatRequest(group_id="deferred", generation_id=10),
    "async": MetadataRequest(include_topic_authorized_operations=True),
    "forwarded": UnregisterBrokerRequest(broker_id=10),
}


class Place:
    async def __aenter__(self) -> "Place":
        self.world = RealWorld(SocketNetwork())
        self.server = Server("test", HANDLERS, App(), self.world, Limits(quota_windows=WINDOWS))
        listener = await self.server.listen("127.0.0.1", 0)
        self.client = await Client.connect(self.world, "127.0.0.1", listener.port, client_id="c")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        await self.server.close()

    async def ask(self, request) -> tuple[object, float]:
        """The answer, and how long it took until the one behind it was there, too."""
        began = time.monotonic()
        answer = await self.client.request(request, timeout_ms=5_000)
        await self.client.request(UnregisterBrokerRequest(broker_id=0), timeout_ms=5_000)
        return answer, (time.monotonic() - began) * 1000


@pytest.mark.parametrize("kind", BUSY)
def test_who_keeps_the_loop_busy_is_told_to_wait_and_is_not_read(kind: str) -> None:
    async def scenario() -> None:
        async with Place() as place:
            place.server.on_quotas(ONE_PERCENT)
            answer, took_ms = await place.ask(BUSY[kind])
            assert answer.throttle_time_ms == WINDOWS.window_ms, "a window at most"
            assert took_ms > answer.throttle_time_ms
            if kind == "forwarded":
                assert answer.error_code == 42
            assert place.server.counters.throttled[0].times >= 1
            assert 'quota="request_percentage"' in place.world.metrics.text()

    asyncio.run(scenario())


def test_a_request_that_only_waits_uses_no_time() -> None:
    async def scenario() -> None:
        async with Place() as place:
            place.server.on_quotas({EVERYBODY: {"request_percentage": 100.0}})
            answer = await place.client.request(MetadataRequest(), timeout_ms=5_000)
            assert answer.throttle_time_ms == 0
            rates = place.server.request_time.quota
            assert rates.accounts == 1
            assert rates.charge(("ANONYMOUS", "c"), 1, place.world.monotonic_ms()) == 0

    asyncio.run(scenario())


def test_what_the_handler_has_them_wait_counts_where_it_is_more() -> None:
    async def scenario() -> None:
        async with Place() as place:
            place.server.on_quotas({EVERYBODY: {"request_percentage": 1e6}})
            answer, _ = await place.ask(HeartbeatRequest())
            assert answer.throttle_time_ms == 7

    asyncio.run(scenario())


def test_shortcuts_are_taken_while_nobody_has_a_quota() -> None:
    async def scenario() -> None:
        async with Place() as place:
            app = place.server.app
            await place.client.request(HeartbeatRequest(), timeout_ms=5_000)
            assert app.shortcuts == 1
            place.server.on_quotas(ONE_PERCENT)
            await place.client.request(HeartbeatRequest(), timeout_ms=5_000)
            assert app.shortcuts == 1
            place.server.on_quotas({})
            await place.client.request(HeartbeatRequest(generation_id=10), timeout_ms=5_000)
            assert app.shortcuts == 2
            assert place.server.routes[ApiKey.HEARTBEAT].request_time is None

    asyncio.run(scenario())


def test_what_another_server_handles_behind_the_same_door_counts_too() -> None:
    async def scenario() -> None:
        async with Place() as place:
            beside = Server("beside", {ApiKey.METADATA: HANDLERS[ApiKey.METADATA]}, App(), place.world)
            place.server.on_quotas(ONE_PERCENT)
            place.server.share(beside, {ApiKey.METADATA: lambda request: request.include_topic_authorized_operations})
            answer, _ = await place.ask(BUSY["async"])
            assert answer.throttle_time_ms == WINDOWS.window_ms
            place.server.on_quotas({})
            shared = place.server.route(ApiKey.METADATA)
            assert shared is not None
            assert shared.request_time is None
            assert shared.handle is not HANDLERS[ApiKey.METADATA].handle, "it stays shared"
            place.server.unshare()
            own, with_shortcut = place.server.route(ApiKey.METADATA), place.server.route(ApiKey.HEARTBEAT)
            assert own is not None
            assert own.handle is HANDLERS[ApiKey.METADATA].handle
            assert with_shortcut is not None
            assert with_shortcut.shortcut is not None
            await beside.close()

    asyncio.run(scenario())
