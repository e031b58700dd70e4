"""Replies that answer themselves once they can, over both networks."""

import asyncio

import pytest

from millstream_runtime.nodes.client import Client, Disconnected
from millstream_runtime.serving.awaited import awaited
from millstream_runtime.serving.context import Deferred
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.messages import HeartbeatRequest, HeartbeatResponse


class Waiting(Deferred):
    def __init__(self) -> None:
        super().__init__()
        self.cancelled = 0
        self.gone = asyncio.Event()

    def on_cancelled(self) -> None:
        self.cancelled += 1
        self.gone.set()


class App:
    def __init__(self) -> None:
        self.waiting: list[Waiting] = []
        self.more = asyncio.Event()


def heartbeat(app: App, request: HeartbeatRequest, context) -> HeartbeatResponse | Deferred:
    if request.group_id == "at once":
        return HeartbeatResponse(error_code=9)
    app.waiting.append(Waiting())
    app.more.set()
    return app.waiting[-1]


HANDLERS = {ApiKey.HEARTBEAT: serve(HeartbeatRequest, heartbeat)}


async def until_waiting(app: App, count: int) -> None:
    async with asyncio.timeout(10):
        while len(app.waiting) < count:
            app.more.clear()
            await app.more.wait()


def scene(hosts, course) -> None:
    async def whole() -> None:
        app = App()
        server = Server("broker-1", HANDLERS, app, hosts.world("server"))
        listener = await server.listen(hosts.address("server"), 0)
        client = await Client.connect(hosts.world("client"), hosts.address("server"), listener.port, client_id="me")
        await course(app, client)
        await client.close()
        await server.close()

    hosts.run(whole())


def test_answers_leave_in_the_order_of_the_requests(hosts) -> None:
    async def course(app: App, client: Client) -> None:
        first, second, third = (
            asyncio.ensure_future(client.request(HeartbeatRequest(group_id=group_id), timeout_ms=5000))
            for group_id in ("a", "b", "at once")
        )
        await until_waiting(app, 2)
        app.waiting[1].answer(HeartbeatResponse(error_code=2))
        await asyncio.sleep(0.05)
        assert [each.done() for each in (first, second, third)] == [False] * 3
        app.waiting[0].answer(HeartbeatResponse(error_code=1))
        assert [(await each).error_code for each in (first, second, third)] == [1, 2, 9]
        app.waiting[0].answer(HeartbeatResponse(error_code=5))  # says nothing more
        app.waiting[0].fail(RuntimeError("late"))
        later = await client.request(HeartbeatRequest(group_id="at once"), timeout_ms=5000)
        assert later.error_code == 9

    scene(hosts, course)


def test_one_whose_client_is_gone_is_told_once(hosts) -> None:
    async def course(app: App, client: Client) -> None:
        asked = asyncio.ensure_future(client.request(HeartbeatRequest(group_id="a"), timeout_ms=5000))
        await until_waiting(app, 1)
        waiting = app.waiting[0]
        assert not waiting.is_over
        await client.close()
        with pytest.raises(Disconnected):
            await asked
        async with asyncio.timeout(10):
            await waiting.gone.wait()
        assert waiting.cancelled == 1
        waiting.answer(HeartbeatResponse())
        waiting.cancel()
        assert waiting.cancelled == 1

    scene(hosts, course)


def test_one_that_fails_ends_its_clients_connection(hosts) -> None:
    async def course(app: App, client: Client) -> None:
        asked = asyncio.ensure_future(client.request(HeartbeatRequest(group_id="a"), timeout_ms=5000))
        await until_waiting(app, 1)
        app.waiting[0].fail(RuntimeError("a bug"))
        with pytest.raises(Disconnected):
            await asked
        assert app.waiting[0].cancelled == 0

    scene(hosts, course)


def test_who_can_wait_for_futures_only_gets_one() -> None:
    async def course() -> None:
        answered, failed, given_up = Waiting(), Waiting(), Waiting()
        futures = [awaited(each) for each in (answered, failed, given_up)]
        answered.answer(b"x")
        failed.fail(RuntimeError("a bug"))
        assert await futures[0] == b"x"
        with pytest.raises(RuntimeError, match="a bug"):
            await futures[1]
        futures[2].cancel()
        await asyncio.sleep(0)
        assert [each.cancelled for each in (answered, failed, given_up)] == [0, 0, 1]
        given_up.answer(b"late")

    asyncio.run(course())
