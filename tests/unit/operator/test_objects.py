"""An API server that goes away while it is asked."""

import asyncio

import pytest
from kubernetes.aio import client as api

from millstream_operator.kube.objects import Objects

BEGINNING = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", BEGINNING], ids=["no word", "half a line", "half a list"])
def test_an_answer_that_breaks_off_is_an_os_error(answer: bytes) -> None:
    """As a refused connection is, which every loop of the operator outlives."""

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async def scenario() -> None:
        server = await asyncio.start_server(break_off, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        async with server, api.ApiClient(api.Configuration(host=f"http://{host}:{port}")) as client:
            with pytest.raises(OSError, match="does not answer"):
                await Objects(client).list("millstream.dev/v1alpha1", "Topic", "n")

    asyncio.run(scenario())
