"""How one API is served: by whom, in which versions, and what is counted."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from millstream_runtime.metrics import Latency
from millstream_runtime.network.frames import Frame
from millstream_runtime.serving.context import RequestContext
from millstream_wire.api import ApiKey
from millstream_wire.schema import Request

if TYPE_CHECKING:
    from millstream_runtime.serving.request_time import RequestTime

# As in the rows of `handlers.Handler`, with their types erased.
Handle = Callable[[Any, Any, RequestContext], Any]
Shortcut = Callable[[Any, Frame, int, RequestContext], Any]


@dataclass(frozen=True, slots=True)
class Route:
    """How one API is served."""

    api_key: ApiKey
    name: str
    request: type[Request[Any]]
    least: int
    most: int
    handle: Handle
    app: Any
    """What the handler is about; most often the server's."""
    start: Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"]
    """Runs the rest of a handler, for as long as the server of its app is open."""
    owns_bytes: bool
    """The handler is `async def`: it outlives the frame."""
    latency: Latency
    shortcut: Shortcut | None = None
    request_time: "RequestTime | None" = None
    """Where the time of a request is counted, while somebody has a quota for it."""


def divided(own: Route | None, theirs: Route, is_theirs: Callable[[Any], bool]) -> Route:
    """One API with two servers behind one listener; whose a request is can be seen in it."""
    if own is None:
        return theirs
    ours = own

    def handle(_: Any, request: Any, context: RequestContext) -> Any:
        route = theirs if is_theirs(request) else ours
        return route.handle(route.app, request, context)

    return replace(theirs, handle=handle, owns_bytes=ours.owns_bytes or theirs.owns_bytes, shortcut=None)
