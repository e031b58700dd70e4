"""An API server in memory, in virtual time: what a KubernetesStore asks of it takes a while, gets lost, or is refused in passing.

What it holds is changed by compare-and-swap alone, at the moment when a request arrives; whether its sender lives then, or hears
of it, is another matter. That is what the store's ring of slots has to stand.
"""

import asyncio
import random
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from millstream_controller.config import InKubernetes, StorePlace
from millstream_controller.shell.kubernetes_api import REQUEST_TIMEOUT_S, refusal_of
from millstream_controller.shell.kubernetes_store import KubernetesStore
from millstream_controller.shell.slot_objects import PART_LABEL, Conflict, NoAnswer, Object
from millstream_controller.shell.store import Store
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_runtime.world import World
from millstream_simulation.story import Story

T = TypeVar("T")

DELAY_S = (0.001, 0.02)
LATE_S = (2.0, 20.0)
"""Of a request that comes late: some when nobody waits for it any more."""
RESET_PROBABILITY = 0.5
"""Of what gets lost: its sender hears of a broken connection, and need not wait for the time to be over."""
REFUSALS = (409, 401, 403, 408, 429, 500, 503, 504)
"""Statuses that a sound API server gives now and then to a request that is all right."""


@dataclass(slots=True)
class Access:
    """One controller's way to the API server; trouble changes it while the run goes on."""

    cut: bool = False
    lost_requests: float = 0.005
    lost_replies: float = 0.005
    late_requests: float = 0.002
    refused: float = 0.01


class ApiServer:
    def __init__(self, rng: random.Random, story: Story) -> None:
        self.random = rng
        self.story = story
        self._accesses: dict[str, Access] = {}
        self._objects: dict[str, Object] = {}
        self._backup: dict[str, Object] = {}
        self._version = 0

    async def open(self, place: StorePlace, world: World, writer: str) -> Store:
        """As `open_store` of the controller."""
        assert isinstance(place, InKubernetes)
        assert isinstance(world, SimulatedWorld)
        connection = ApiConnection(self, self.access(world.host))
        return KubernetesStore(connection, world, namespace=place.namespace, cluster=place.name, writer=writer)

    def access(self, host: str) -> Access:
        return self._accesses.setdefault(host, Access())

    def back_up(self) -> None:
        self._backup = dict(self._objects)  # an object is never changed, only replaced

    def put_back(self) -> None:
        self._objects = self._backup

    # What arrives

    def list(self, part: str) -> list[Object]:
        return [found for found in self._objects.values() if found["metadata"]["labels"][PART_LABEL] == part]

    def get(self, name: str) -> Object | None:
        return self._objects.get(name)

    def write(self, body: Object) -> Object:
        name, expected = body["metadata"]["name"], body["metadata"].get("resourceVersion")
        present = self._objects.get(name)
        if (None if present is None else present["metadata"]["resourceVersion"]) != expected:
            self.story.note("store write conflicted")
            raise Conflict(name)
        self._version += 1
        written = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        self._objects[name] = written
        return written

    def delete(self, name: str) -> None:
        self._objects.pop(name, None)


class ApiConnection:
    """`SlotObjects` of one controller process."""

    def __init__(self, server: ApiServer, access: Access) -> None:
        self._server = server
        self._access = access

    async def list(self, part: str) -> list[Object]:
        return await self._call(lambda: self._server.list(part))

    async def get(self, name: str) -> Object | None:
        return await self._call(lambda: self._server.get(name))

    async def create(self, body: Object) -> Object:
        return await self._call(lambda: self._server.write(body), writes=True)

    async def replace(self, name: str, body: Object) -> Object:
        return await self._call(lambda: self._server.write(body), writes=True)

    async def delete(self, name: str) -> None:
        await self._call(lambda: self._server.delete(name), writes=True)

    async def close(self) -> None: ...

    async def _call(self, work: Callable[[], T], *, writes: bool = False) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        request = _Request(self._server, self._access, work, answer, copy_context(), writes)
        request.send()
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                return await answer
        except TimeoutError as error:
            raise NoAnswer(f"no answer in {REQUEST_TIMEOUT_S:.0f} s") from error


class _Request:
    """On its way to the server and back. It belongs to the network: its sender's death does not stop it."""

    def __init__(
        self,
        server: ApiServer,
        access: Access,
        work: Callable[[], T],
        answer: "asyncio.Future[T]",
        sender: Context,
        writes: bool,
    ) -> None:
        self._server = server
        self._access = access
        self._work: Callable[[], object] = work
        self._answer: asyncio.Future[object] = answer  # type: ignore[assignment]
        self._sender = sender
        self._writes = writes

    def send(self) -> None:
        draw, access, note = self._server.random, self._access, self._server.story.note
        if access.cut or draw.random() < access.lost_requests:
            note("store request lost")
            self._lose()
        elif draw.random() < access.late_requests:
            note("store request late")
            self._after(draw.uniform(*LATE_S), self._arrive, Context())
        else:
            self._after(draw.uniform(*DELAY_S), self._arrive, Context())

    def _arrive(self) -> None:
        draw, access, note = self._server.random, self._access, self._server.story.note
        if draw.random() < access.refused:
            note("store request refused")
            statuses = REFUSALS if self._writes else REFUSALS[1:]
            self._reply(partial(self._fail, refusal_of(draw.choice(statuses), "refused in passing")))
            return
        try:
            result = self._work()
        except Conflict as error:
            self._reply(partial(self._fail, error))
            return
        if access.cut or draw.random() < access.lost_replies:
            note("store write unanswered" if self._writes else "store request lost")
            self._lose()
        else:
            self._reply(partial(self._succeed, result))

    def _lose(self) -> None:
        """Nothing comes back, but perhaps the news that the connection broke."""
        if self._server.random.random() < RESET_PROBABILITY:
            self._reply(partial(self._fail, NoAnswer("connection reset")))

    def _reply(self, tell: Callable[[], None]) -> None:
        self._after(self._server.random.uniform(*DELAY_S), tell, self._sender)

    def _after(self, delay_s: float, happen: Callable[[], None], context: Context) -> None:
        asyncio.get_running_loop().call_later(delay_s, happen, context=context)

    def _succeed(self, result: object) -> None:
        if not self._answer.done():
            self._answer.set_result(result)

    def _fail(self, error: Exception) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)
