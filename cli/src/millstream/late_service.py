"""A service whose program is imported only once another service is ready: clients of that one need not wait for it.

It decides nothing but when; what is served, and how it stops, is the service's own.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from millstream_runtime.service import Health, Service

SWITCH_SECONDS = 0.0005
"""How long an import may keep the event loop waiting for the interpreter; 5 ms, the default, is felt by every request."""


class LateService:
    """A `Service`."""

    def __init__(self, name: str, module: str, build: Callable[[], Service], *, after: asyncio.Event) -> None:
        """`build` makes the service, out of `module` for the most part."""
        self._name = name
        self.ready = asyncio.Event()
        self._module = module
        self._build = build
        self._after = after
        self._service: Service | None = None

    @property
    def name(self) -> str:
        return self._service.name if self._service is not None else self._name

    @property
    def listeners(self) -> dict[str, tuple[str, int]]:
        return self._service.listeners if self._service is not None else {}

    def health(self) -> Health:
        if self._service is None:
            return Health(healthy=True, ready=False, detail="not started")
        return self._service.health()

    async def run(self) -> None:
        await self._after.wait()
        with _quick_switches():
            await asyncio.to_thread(import_module, self._module)
        service = self._service = self._build()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pass_on(service.ready))
            await service.run()

    async def _pass_on(self, ready: asyncio.Event) -> None:
        await ready.wait()
        self.ready.set()


@contextmanager
def _quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
