"""The one place where clients come to a process that has several roles: the broker's listeners.

A client keeps a connection per node that it is told of, and whoever runs it has to let each of them through: a published
port, a tunnel, a firewall. So a coordinator beside a broker listens nowhere; its requests come in at the broker's listeners and
the broker's connections, and are its own from there on: its handlers, its tasks, its numbers.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey

Claim = Callable[[Any], bool]
"""Whether a request of an API that both roles serve is for the one that joined."""


def always(request: Any) -> bool:
    return True


class Door:
    """Opened by the broker once it listens; whoever joins later is served there until it leaves."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._server: Server[Any] | None = None
        self._listeners: Mapping[str, tuple[str, int]] = {}

    def open(self, server: Server[Any], listeners: Mapping[str, tuple[str, int]]) -> None:
        self._server, self._listeners = server, listeners
        self._opened.set()

    async def join(self, server: Server[Any], claims: Mapping[ApiKey, Claim]) -> Mapping[str, tuple[str, int]]:
        """Serve at the door what `claims` names of this server's APIs; where that is, once it is open."""
        await self._opened.wait()
        assert self._server is not None, "opened"
        self._server.share(server, claims)
        return self._listeners

    def leave(self) -> None:
        """Whoever joined is gone: the broker answers everything again."""
        if self._server is not None:
            self._server.unshare()
