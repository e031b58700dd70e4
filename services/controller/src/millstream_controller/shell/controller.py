"""What the API handlers work with: this process as a controller, whether it is the active one now or not."""

import asyncio
from uuid import UUID

from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import ControllerElected
from millstream_controller.shell.active import Active, NotActive
from millstream_controller.shell.mutations import Mutations
from millstream_runtime.network.links import DEFAULT_LIMITS, Limits
from millstream_runtime.serving.request_time import RequestTime
from millstream_runtime.world import World

DEFAULT_WINDOWS = Windows()


class Controller:
    def __init__(self, world: World, limits: Limits = DEFAULT_LIMITS, quota_windows: Windows = DEFAULT_WINDOWS) -> None:
        """`quota_windows`: of changes of metadata."""
        self.world = world
        self.mutations = Mutations(world, quota_windows)
        self.forwarded_time = RequestTime(world, limits.quota_windows)
        """What clients' requests take here that other nodes passed on."""
        self._followed: ControllerElected | None = None
        self._active: Active | None = None
        self._knows = asyncio.Event()

    @property
    def active(self) -> Active:
        """The active controller, if this process is it and may be believed; else NotActive."""
        if self._active is None:
            raise NotActive("this is not the active controller")
        if not self._active.verified:
            raise NotActive("this controller cannot tell whether it still is the active one")
        return self._active

    def request_time(self) -> RequestTime | None:
        """Where the time of what other nodes pass on is counted; None while nobody has a quota for it."""
        active = self.find_believed()
        if active is None:
            return None
        quota = self.forwarded_time.quota
        quota.configure(active.log.image.client_quotas)
        return self.forwarded_time if quota.active else None

    def serves(self, active: Active) -> bool:
        """Whether what this active controller said may still be answered: a handler that waited asks again."""
        return self._active is active and active.verified

    @property
    def elected(self) -> ControllerElected | None:
        """The active controller, this process or another; None while nobody is known to be."""
        if self._active is None:
            return self._followed
        believed = self.find_believed()
        return None if believed is None else believed.log.image.controller

    async def until_elected(self, timeout_ms: int) -> None:
        """Return when somebody is known to be the active controller, or when the time is over."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._knows.wait()
        except TimeoutError:
            return

    def find_believed(self) -> Active | None:
        """As `active`, None instead of NotActive."""
        return self._active if self._active is not None and self._active.verified else None

    def find_active(self) -> Active | None:
        """Also one that cannot be believed for now: for what is told about this process, never for answers."""
        return self._active

    def set_active(self, active: Active | None) -> None:
        self._active = active
        self._note()

    def follow(self, elected: ControllerElected | None) -> None:
        """Who is active, as far as a standby knows."""
        self._followed = elected
        self._note()

    def _note(self) -> None:
        if self._active is None and self._followed is None:
            self._knows.clear()
        else:
            self._knows.set()

    def new_id(self) -> UUID:
        """A random UUID."""
        return UUID(int=self.world.random.getrandbits(128), version=4)
