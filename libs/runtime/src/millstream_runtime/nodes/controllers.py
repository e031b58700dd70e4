"""The way to the active controller, whichever node that is: finds it by trying, asks again while the deadline allows."""

import logging
from asyncio import sleep
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_runtime.serving.context import RawReply
from millstream_runtime.world import World
from millstream_wire.api import API, ApiKey
from millstream_wire.codec import DecodeError, decode
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import MetadataRequest

logger = logging.getLogger(__name__)

T = TypeVar("T")

ATTEMPT_TIMEOUT_MS = 5_000
"""A controller that does not answer for this long is passed over for the next."""
BACKOFF_FIRST_MS = 5
"""In one process a controller is active a few milliseconds after its first follower asks."""
BACKOFF_MAX_MS = 1_000


class ControllerUnavailable(ClientError):
    """No controller said it was the active one before the deadline."""


class ControllerLink:
    """Requests to the active controller. One per process role; share it between registration, follower and handlers."""

    def __init__(self, world: World, bootstrap: Sequence[tuple[str, int]], *, client_id: str) -> None:
        assert bootstrap, "controller.bootstrap.servers is empty"
        self._world = world
        self._bootstrap = tuple(bootstrap)
        self._client_id = client_id
        self._nodes = Nodes(world, client_id=client_id)
        self._current = 0
        self._named: tuple[str, int] | None = None
        """Whom a standby named as the active one: one bootstrap name may stand for several controllers."""

    async def request(self, message: Any, *, timeout_ms: int, attempt_timeout_ms: int = ATTEMPT_TIMEOUT_MS) -> Any:
        """Send to the active controller; retried on broken connections and NOT_CONTROLLER until the deadline.

        Raises ControllerUnavailable. A retried command may have been executed the first time.
        """

        async def attempt(host: str, port: int, left_ms: int) -> Any:
            return await self._nodes.request(host, port, message, timeout_ms=min(left_ms, attempt_timeout_ms))

        return await self._until_active(attempt, says_not_controller, timeout_ms)

    async def forward(self, frame: bytes | memoryview, *, timeout_ms: int) -> RawReply:
        """A client's whole request, unchanged; the answer, unchanged: return it from the handler."""
        owned = bytes(frame)
        key, version = int.from_bytes(owned[:2], "big"), int.from_bytes(owned[2:4], "big")

        async def attempt(host: str, port: int, left_ms: int) -> bytes:
            return await self._nodes.forward(host, port, owned, timeout_ms=left_ms)

        def refused(answer: bytes) -> bool:
            return says_not_controller(decoded_answer(ApiKey(key), version, answer))

        answer: bytes = await self._until_active(attempt, refused, timeout_ms)
        return RawReply([answer])

    def another(self) -> "ControllerLink":
        """A link with connections of its own, for who waits long or must not wait behind others' answers."""
        return ControllerLink(self._world, self._bootstrap, client_id=self._client_id)

    async def close(self) -> None:
        await self._nodes.close()

    async def _until_active(
        self,
        attempt: Callable[[str, int, int], Awaitable[T]],
        refused: Callable[[T], bool],
        timeout_ms: int,
    ) -> T:
        deadline_ms = self._world.monotonic_ms() + timeout_ms
        backoff_ms, tried, last = BACKOFF_FIRST_MS, 0, "not asked"
        while (left_ms := deadline_ms - self._world.monotonic_ms()) > 0:
            index, named = self._current, self._named
            host, port = named or self._bootstrap[index]
            try:
                answer = await attempt(host, port, left_ms)
                if not refused(answer):
                    return answer
                last = f"{host}:{port} is not the active controller"
                following = None if named else await self._named_by(host, port, min(left_ms, ATTEMPT_TIMEOUT_MS))
            except ClientError as error:
                last, following = str(error), None
            if self._named == named:  # nobody else moved on meanwhile
                self._named = following
            if following is not None:
                continue
            if named is None and self._current == index:
                self._current = (index + 1) % len(self._bootstrap)
            tried += 1
            if named is not None or tried % len(self._bootstrap) == 0:
                left_ms = deadline_ms - self._world.monotonic_ms()
                await sleep(max(0, min(backoff_ms * self._world.random.uniform(0.5, 1.0), left_ms)) / 1000)
                backoff_ms = min(backoff_ms * 2, BACKOFF_MAX_MS)
        raise ControllerUnavailable(f"no active controller in {timeout_ms} ms: {last}")

    async def _named_by(self, host: str, port: int, timeout_ms: int) -> tuple[str, int] | None:
        """Ask a standby who the active controller is: the one node of its metadata."""
        answer = await self._nodes.request(host, port, MetadataRequest(topics=[]), timeout_ms=timeout_ms)
        return (answer.brokers[0].host, answer.brokers[0].port) if answer.brokers else None


def says_not_controller(response: Any) -> bool:
    """NOT_CONTROLLER anywhere in a response: at the top, or per topic or partition."""
    if isinstance(response, list):
        return any(map(says_not_controller, response))
    if not is_dataclass(response):
        return False
    if getattr(response, "error_code", None) == ErrorCode.NOT_CONTROLLER:
        return True
    return any(says_not_controller(getattr(response, field.name)) for field in fields(response))


def decoded_answer(key: ApiKey, version: int, answer: bytes) -> Any:
    """The message of an answer without its correlation id; None if it makes no sense to us (its receiver may know better)."""
    api = API[key]
    flexible = api.flexible is not None and version >= api.flexible and key != ApiKey.API_VERSIONS
    try:
        return decode(api.response, version, memoryview(answer)[1 if flexible else 0 :])
    except DecodeError:
        return None
