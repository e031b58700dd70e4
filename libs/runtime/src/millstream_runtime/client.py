"""Connections to other nodes: one pipelined connection (`Client`) and a bounded pool of them (`Nodes`).

A client sends requests in order and matches replies by correlation id. It does not retry: that is its user's decision.
"""

from typing import Any

from millstream_runtime.world import World


class ClientError(Exception):
    """A request that got no answer."""


class Disconnected(ClientError):
    """The connection could not be made or broke; whether the request was executed is unknown."""


class RequestTimedOut(ClientError):
    """No answer in time; whether the request was executed is unknown. The connection is closed."""


class VersionNotSupported(ClientError):
    """The node and we have no common version of this API."""


class Client:
    """One connection; requests are pipelined and answered in order."""

    @classmethod
    async def connect(cls, world: World, host: str, port: int, *, client_id: str) -> "Client":
        """Connect and exchange ApiVersions, or raise Disconnected."""
        raise Disconnected("not written yet")

    async def request(self, message: Any, *, timeout_ms: int, version: int | None = None) -> Any:
        """Send a request message, wait for its response message; the highest common version unless one is given.

        Record fields of the message may hold any Part; those of the response are views that own their bytes.
        """
        raise Disconnected("not written yet")

    async def forward(self, frame: bytes | memoryview, *, timeout_ms: int) -> bytes:
        """Send a whole request (header and body) under a correlation id of our own; return what follows it in the response."""
        raise Disconnected("not written yet")

    @property
    def closed(self) -> bool:
        return True

    async def close(self) -> None: ...


class Nodes:
    """Clients by address: connects on first use, forgets broken ones, bounded."""

    def __init__(self, world: World, *, client_id: str, connections_max: int = 1000) -> None: ...

    async def request(self, host: str, port: int, message: Any, *, timeout_ms: int, version: int | None = None) -> Any:
        """As Client.request; the timeout covers connecting too."""
        raise Disconnected("not written yet")

    async def forward(self, host: str, port: int, frame: bytes | memoryview, *, timeout_ms: int) -> bytes:
        raise Disconnected("not written yet")

    async def close(self) -> None: ...
