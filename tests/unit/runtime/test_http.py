"""The few words of HTTP that a node understands, and what it does with all others."""

import asyncio
import http.client
from collections.abc import Callable
from typing import TypeVar

import pytest

from millstream_runtime.exposition import CONTENT_TYPE
from millstream_runtime.http import CONNECTIONS_MAX, HEAD_MAX_BYTES, PATIENCE_SECONDS, serve_http
from millstream_runtime.metrics import Metrics

T = TypeVar("T")


def served(work: Callable[[str, int], T]) -> T:
    async def scenario() -> T:
        async with serve_http([], Metrics(), "127.0.0.1", 0) as (host, port):
            return await asyncio.to_thread(work, host, port)

    return asyncio.run(scenario())


def asked(method: str, path: str) -> tuple[int, str | None, bytes]:
    def work(host: str, port: int) -> tuple[int, str | None, bytes]:
        connection = http.client.HTTPConnection(host, port, timeout=10)
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type"), response.read()

    return served(work)


def test_pages_are_answered_and_the_rest_refused() -> None:
    status, content_type, body = asked("GET", "/metrics?x=1")
    assert (status, content_type) == (200, CONTENT_TYPE)
    assert b"# TYPE millstream_request_seconds histogram" in body
    assert asked("HEAD", "/metrics") == (200, CONTENT_TYPE, b"")
    assert asked("GET", "/etc/passwd")[0] == 404
    assert asked("POST", "/healthz")[0] == 405


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\r\n\r\n", b"GET\r\n\r\n", b"x" * (HEAD_MAX_BYTES + 1)])
def test_garbage_is_a_bad_request(garbage: bytes) -> None:
    async def scenario() -> bytes:
        async with serve_http([], Metrics(), "127.0.0.1", 0) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(garbage)
            answer = await reader.read()
            writer.close()
            return answer

    assert asyncio.run(scenario()).startswith(b"HTTP/1.1 400 ")


def test_idle_connections_do_not_pile_up() -> None:
    async def scenario() -> None:
        async with serve_http([], Metrics(), "127.0.0.1", 0) as address:
            idle = [await asyncio.open_connection(*address) for _ in range(CONNECTIONS_MAX)]
            one_more, writer = await asyncio.open_connection(*address)
            try:
                async with asyncio.timeout(PATIENCE_SECONDS / 2):
                    answer = await one_more.read()
            except ConnectionError:
                answer = b""
            assert answer == b""
            for _, each in [*idle, (one_more, writer)]:
                each.close()

    asyncio.run(scenario())
