"""The way to the active controller, whichever node that is: finds it by trying, asks again while the deadline allows."""

from collections.abc import Sequence
from typing import Any

from millstream_runtime.client import ClientError
from millstream_runtime.context import RawReply
from millstream_runtime.world import World


class ControllerUnavailable(ClientError):
    """No controller said it was the active one before the deadline."""


class ControllerLink:
    """Requests to the active controller. One per process role; share it between registration, follower and handlers."""

    def __init__(self, world: World, bootstrap: Sequence[tuple[str, int]], *, client_id: str) -> None: ...

    async def request(self, message: Any, *, timeout_ms: int) -> Any:
        """Send to the active controller; retried on broken connections and NOT_CONTROLLER until the deadline.

        Raises ControllerUnavailable. A retried command may have been executed the first time.
        """
        raise ControllerUnavailable("not written yet")

    async def forward(self, frame: bytes | memoryview, *, timeout_ms: int) -> RawReply:
        """A client's whole request, unchanged: `return await app.controllers.forward(bytes(context.frame), timeout_ms=...)`."""
        raise ControllerUnavailable("not written yet")

    async def close(self) -> None: ...
