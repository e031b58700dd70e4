"""/healthz, /readyz and /metrics of a process, for Kubernetes and Prometheus.

As little of HTTP as these two need: GET and HEAD, one request a connection. A library that knows all of it takes longer to
import than the rest of a node to start.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeAlias, cast

from millstream_runtime.exposition import CONTENT_TYPE
from millstream_runtime.metrics import Metrics
from millstream_runtime.service import Health, Service

HEAD_MAX_BYTES = 16_384
CONNECTIONS_MAX = 64
PATIENCE_SECONDS = 10.0
"""For the request to arrive and the answer to be taken."""
PLAIN = "text/plain; charset=utf-8"

Answer: TypeAlias = tuple[HTTPStatus, str, str]
"""Status, content type, body."""
Pages: TypeAlias = dict[str, Callable[[], Answer]]


@asynccontextmanager
async def serve_http(
    services: Sequence[Service], metrics: Metrics, host: str, port: int
) -> AsyncIterator[tuple[str, int]]:
    """Serve while the context lasts; yields the address. Raises OSError (port in use)."""
    pages: Pages = {
        "/healthz": lambda: _report(services, lambda health: health.healthy),
        "/readyz": lambda: _report(services, lambda health: health.ready),
        "/metrics": lambda: (HTTPStatus.OK, CONTENT_TYPE, metrics.text()),
    }
    connections: set[asyncio.Transport] = set()
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(pages, connections), host, port)
    try:
        yield server.sockets[0].getsockname()[:2]
    finally:
        server.close()
        for transport in list(connections):
            transport.abort()


def _report(services: Sequence[Service], well: Callable[[Health], bool]) -> Answer:
    """One line per service; 503 unless all are well."""
    states = [(service.name, service.health()) for service in services]
    lines = [f"{name} {'ok' if well(health) else 'not ok'} {health.detail}".rstrip() for name, health in states]
    status = HTTPStatus.OK if all(well(health) for _, health in states) else HTTPStatus.SERVICE_UNAVAILABLE
    return status, PLAIN, "\n".join(lines) + "\n"


class _Connection(asyncio.Protocol):
    """Reads one request, answers, closes."""

    def __init__(self, pages: Pages, connections: set[asyncio.Transport]) -> None:
        self._pages = pages
        self._connections = connections
        self._received = bytearray()
        self._answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self._transport)
        self._deadline = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._transport.abort)
        if len(self._connections) > CONNECTIONS_MAX:
            self._transport.abort()

    def connection_lost(self, reason: Exception | None) -> None:
        self._deadline.cancel()
        self._connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        if self._answered:
            return
        self._received += data
        if b"\r\n\r\n" in self._received:
            self._answer(*_method_and_path(self._received))
        elif len(self._received) > HEAD_MAX_BYTES:
            self._answer("", "")

    def _answer(self, method: str, path: str) -> None:
        self._answered = True
        page = self._pages.get(path)
        match method:
            case "GET" | "HEAD" if page is not None:
                status, content_type, body = page()
            case "GET" | "HEAD":
                status, content_type, body = HTTPStatus.NOT_FOUND, PLAIN, "not found\n"
            case "":
                status, content_type, body = HTTPStatus.BAD_REQUEST, PLAIN, "not an HTTP request\n"
            case _:
                status, content_type, body = HTTPStatus.METHOD_NOT_ALLOWED, PLAIN, "GET and HEAD only\n"
        content = body.encode()
        head = [
            f"HTTP/1.1 {status.value} {status.phrase}",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(content)}",
            "Allow: GET, HEAD",
            "Connection: close",
        ]
        self._transport.write("\r\n".join([*head, "", ""]).encode() + (b"" if method == "HEAD" else content))
        self._transport.close()


def _method_and_path(received: bytearray) -> tuple[str, str]:
    """Of the request's first line, without a query; both empty if it makes no sense."""
    words = bytes(received.partition(b"\r\n")[0]).split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return "", ""
    return words[0].decode("latin-1"), words[1].partition(b"?")[0].decode("latin-1")
