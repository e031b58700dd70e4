"""A service that another one goes before: nothing of it is there until then, and it is itself from then on."""

import asyncio

import pytest

from millstream.late_service import LateService
from millstream_runtime.service import Health, ServiceFailed


class Toy:
    def __init__(self, *, fails: bool = False) -> None:
        self.name = "toy-7"
        self.ready = asyncio.Event()
        self.listeners: dict[str, tuple[str, int]] = {}
        self.stopped = False
        self._fails = fails

    def health(self) -> Health:
        return Health(healthy=True, ready=self.ready.is_set(), detail="toy")

    async def run(self) -> None:
        if self._fails:
            raise ServiceFailed("no")
        self.listeners["PLAINTEXT"] = ("127.0.0.1", 1)
        self.ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped = True


def test_it_starts_after_another_and_is_then_the_service_itself() -> None:
    async def scenario() -> None:
        built: list[Toy] = []

        def build() -> Toy:
            built.append(Toy())
            return built[0]

        after = asyncio.Event()
        late = LateService("toy", "json", build, after=after)
        running = asyncio.ensure_future(late.run())
        await asyncio.sleep(0)
        assert not built
        assert (late.name, late.listeners) == ("toy", {})
        assert late.health() == Health(healthy=True, ready=False, detail="not started")
        after.set()
        await late.ready.wait()
        assert (late.name, late.listeners) == ("toy-7", {"PLAINTEXT": ("127.0.0.1", 1)})
        assert late.health() == Health(healthy=True, ready=True, detail="toy")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert built[0].stopped

    asyncio.run(scenario())


def test_why_it_failed_is_what_the_service_says() -> None:
    async def scenario() -> None:
        after = asyncio.Event()
        after.set()
        with pytest.raises(ExceptionGroup) as failure:
            await LateService("toy", "json", lambda: Toy(fails=True), after=after).run()
        assert isinstance(failure.value.exceptions[0], ServiceFailed)

    asyncio.run(scenario())
