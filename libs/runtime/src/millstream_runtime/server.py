"""The dispatch of one listener: frames to handlers, answers back in order.

Decoding, ApiVersions, ordering, back-pressure and counting are here, once for all services; what a request means is not.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from millstream_wire.api import ApiKey

from millstream_runtime.context import Connection, Handler, RawReply, RequestContext
from millstream_runtime.network import DEFAULT_LIMITS, Limits, Listener
from millstream_runtime.world import World

__all__ = ["Connection", "Handler", "RawReply", "RequestContext", "Server"]


class Server:
    """Serves `handlers` of `app` on any number of listeners until it is closed."""

    def __init__(
        self,
        name: str,
        handlers: Mapping[ApiKey, Handler],
        app: Any,
        world: World,
        limits: Limits = DEFAULT_LIMITS,
        *,
        unadvertised: Iterable[ApiKey] = (),
    ) -> None:
        """`unadvertised`: served but left out of ApiVersions (what only nodes of the cluster send)."""

    async def listen(self, host: str, port: int, *, listener_name: str = "PLAINTEXT") -> Listener:
        raise OSError("not written yet")

    async def close(self) -> None:
        """Stop listening, cancel what is under way, close every connection."""
