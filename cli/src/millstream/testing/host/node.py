"""One all-in-one node of a hosted cluster: broker, controller and coordinator, with what a test can do to it."""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from millstream.node import NODE_KEYS
from millstream.roles import Place, Role, properties_of
from millstream.testing.host.moving_loop import MovingLoop
from millstream.testing.host.owner import Owner
from millstream.testing.host.world import HostedDisk, HostedWorld
from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_cluster.configs import BROKER_CONFIGS
from millstream_cluster.records import MetadataRecord
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_controller.shell.open_store import open_store
from millstream_coordinator.app import CoordinatorApp
from millstream_coordinator.config import CoordinatorConfig
from millstream_runtime.properties import Properties
from millstream_runtime.service import Service
from millstream_runtime.serving.door import Door

logger = logging.getLogger(__name__)

ROLES = tuple(Role)
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0


class NodeFailed(Exception):
    """It did not start, or ended by itself; one line for a person."""


class HostedNode:
    """Its disk outlives its processes; each start is a process of its own, with a world of its own."""

    def __init__(
        self,
        number: int,
        settings: Mapping[str, str],
        place: Place,
        *,
        since_s: Callable[[], float],
        first_logins: Sequence[MetadataRecord] = (),
    ) -> None:
        self.number = number
        self.disk = HostedDisk()
        self._place = place
        self._since_s = since_s
        self._first_logins = first_logins
        given = Properties(settings)
        self._told = {role: properties_of(role, ROLES, given, place) for role in ROLES}
        self._controller = ControllerConfig.from_properties(self._told[Role.CONTROLLER])
        self._broker = BrokerConfig.from_properties(self._told[Role.BROKER])
        self._coordinator = CoordinatorConfig.from_properties(self._told[Role.COORDINATOR])
        known = {key for properties in self._told.values() for key in properties.known}
        given.refuse_unknown({*NODE_KEYS, *BROKER_CONFIGS, *known})
        self._owner: Owner | None = None
        self._world: HostedWorld | None = None
        self._context = contextvars.Context()
        self._services: dict[Role, Service] = {}
        self._running: dict[Role, asyncio.Task[None]] = {}
        self._ending = False
        self.failure: BaseException | None = None
        """Why it ended by itself."""

    @property
    def is_up(self) -> bool:
        return self._owner is not None

    @property
    def answers(self) -> bool:
        return self._owner is not None and not self._owner.is_deaf

    @property
    def address(self) -> str:
        return f"{self._place.reachable_host}:{self._place.ports[0]}"

    async def start(self) -> None:
        """Until it takes requests. Raises NodeFailed."""
        self.begin()
        await self.until_ready()

    def begin(self) -> None:
        assert not self.is_up
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovingLoop)
        self._owner = Owner()
        self._ending = False
        self.failure = None
        self._context = contextvars.copy_context()
        self._context.run(loop.owner.set, self._owner)
        self._world = HostedWorld(self._owner, loop, self._since_s)
        self._door = Door()
        for role in ROLES:
            self._begin(role)

    def _begin(self, role: Role) -> None:
        assert self._world is not None
        service: Service
        match role:
            case Role.CONTROLLER:
                service = ControllerApp(
                    self._controller,
                    self._world,
                    open_store=partial(open_store, disk=self.disk),
                    first_logins=self._first_logins,
                )
            case Role.BROKER:
                service = BrokerApp(self._broker, self._world, self.disk, self._door)
            case Role.COORDINATOR:
                service = CoordinatorApp(self._coordinator, self._world, self._door)
        self._services[role] = service
        running = self._context.run(asyncio.get_running_loop().create_task, service.run(), name=service.name)
        running.add_done_callback(self._ended)
        self._running[role] = running

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not self._ending and not task.cancelled() and self.failure is None:
            self.failure = task.exception() or RuntimeError(f"{task.get_name()} ended")
            logger.error("node ended node=%d reason=%s", self.number, self.failure)

    async def until_ready(self) -> None:
        deadline = asyncio.get_running_loop().time() + START_TIMEOUT_S
        while not all(service.ready.is_set() for service in self._services.values()):
            if self.failure is not None:
                raise NodeFailed(f"node {self.number} did not start: {_line(self.failure)}")
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise NodeFailed(f"node {self.number} did not start within {START_TIMEOUT_S:.0f} s")
            waiting = next(service for service in self._services.values() if not service.ready.is_set())
            ready = asyncio.ensure_future(waiting.ready.wait())
            await asyncio.wait([ready, *self._running.values()], timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()

    async def stop(self) -> None:
        """As by SIGTERM: leadership is handed over, what is open is closed."""
        owner = self._living()
        if owner.is_deaf:
            self.resume()
            self.mend()
        self._ending = True
        for role in reversed(ROLES):
            await self._stop(role)
        await self.kill()

    async def _stop(self, role: Role) -> None:
        running = self._running.pop(role)
        running.cancel()
        await asyncio.wait([running], timeout=STOP_TIMEOUT_S)

    async def kill(self) -> None:
        """As by SIGKILL: nothing of it runs on, its connections break, nobody listens at its port."""
        owner = self._living()
        assert self._world is not None
        self._ending = True
        self._world.killed = True
        self._context.run(self._world.hosted_network.crash)
        await owner.die()
        self._owner = self._world = None
        self._running.clear()
        self._services.clear()

    async def restart_coordinator(self) -> None:
        """Stop this node's coordinator alone, and start another one: its groups move, and may come back."""
        self._living()
        self._ending = True
        await self._stop(Role.COORDINATOR)
        self._ending = False
        self._begin(Role.COORDINATOR)
        await self.until_ready()

    def pause(self) -> None:
        self._living().stop()

    def resume(self) -> None:
        self._living().go_on()

    def cut(self) -> None:
        self._living().cut()

    def mend(self) -> None:
        self._living().mend()

    def slow_down(self, delay_s: float) -> None:
        self._living().delay_s = delay_s

    def fill_disk(self) -> None:
        self.disk.is_full = True

    def free_disk(self) -> None:
        self.disk.is_full = False

    def _living(self) -> Owner:
        if self._owner is None:
            raise NodeFailed(f"node {self.number} is not running")
        return self._owner


def _line(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(str(error).split()) or type(error).__name__


def data_of(directory: Path, number: int) -> Path:
    """Where a node has its files."""
    return directory / f"node-{number}"
