"""Simulated processes: each has a world of its own that can be killed, with everything that runs in it, and started again.

Whatever a process does runs in its own contextvars context; the tasks made there belong to it, so kill -9 takes them all.
Its files stay as the operating system would keep them: written bytes survive, what it only meant to write does not.
"""

import asyncio
import contextvars
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from millstream_runtime.metrics import Metrics
from millstream_runtime.simulated.clock import Clock
from millstream_runtime.simulated.loop import virtual_loop
from millstream_runtime.simulated.network import SHORTEST_S, SimulatedNetwork
from millstream_runtime.simulated.pace import NodePace
from millstream_runtime.world import World

T = TypeVar("T")

ROUNDS_TO_DIE = 1000


class SimulatedWorld(World):
    """That of one process on one host, from its start to its end; a restart is a new one."""

    def __init__(
        self,
        network: SimulatedNetwork,
        host: str,
        seed_random: random.Random,
        *,
        clock: Clock | None = None,
        pace: NodePace | None = None,
    ) -> None:
        """`clock` and `pace`: the host's, for all of its processes; without them it is right, and as fast as the others."""
        self.clock = clock or Clock()
        super().__init__(network.on(host), seed_random, Metrics(), self._monotonic_s)
        self._pace = pace
        self._all = network
        self.host = host
        self._main: asyncio.Task[None] | None = None
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._threads: set[asyncio.Task[Any]] = set()
        self._paused_until = 0.0
        self._held = 0

    def now_ms(self) -> int:
        return self.clock.now_ms(asyncio.get_running_loop().time())

    def monotonic_ms(self) -> int:
        return int(self.monotonic_s() * 1000)

    def _monotonic_s(self) -> float:
        return self.clock.monotonic_s(asyncio.get_running_loop().time())

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """As in a thread: once it has begun it is done, whether or not somebody still waits for it."""
        await asyncio.sleep(0)
        working = asyncio.get_running_loop().create_task(self._work(work))
        self._threads.add(working)
        working.add_done_callback(self._worked)
        return await asyncio.shield(working)

    async def _work(self, work: Callable[[], T]) -> T:
        pace = virtual_loop().pace
        await asyncio.sleep(pace.work_s())
        try:
            return work()
        finally:
            await asyncio.sleep(pace.work_s())

    def _worked(self, working: "asyncio.Task[Any]") -> None:
        self._threads.discard(working)
        if not working.cancelled():
            working.exception()  # who stopped waiting for the work is not told how it went

    def start(self, main: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run a process in this world."""
        loop = virtual_loop()
        context = contextvars.copy_context()
        context.run(loop.owner.set, self)
        self._main = context.run(loop.create_task, main)
        return self._main

    async def stop(self) -> None:
        """SIGTERM: cancel and wait for the clean shutdown, and for threads that are still at work."""
        assert self._main is not None
        self._main.cancel()
        await asyncio.wait([self._main])
        if self._threads:
            await asyncio.wait(self._threads)

    def pause(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after a while: nothing happens here meanwhile, then everything that was due."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)
        self._held = 0

    @property
    def rate(self) -> float:
        """Of its clock: its timers go by that."""
        return self.clock.rate

    def held_until(self) -> float | None:
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._paused_until:
            if self._pace is not None and (busy_s := self._pace.busy_s()):
                self._paused_until, self._held = now_s + busy_s, 0
            return None
        self._held += 1
        return self._paused_until + self._held * SHORTEST_S  # what was due first happens first

    async def kill(self) -> None:
        """kill -9: nothing of it runs on, nothing it holds answers; `killed` tells its finally blocks to do nothing."""
        await asyncio.sleep(0)  # a task that never began could not let go of what it was given, as a dying process does
        self.killed = True
        self._all.crash(self.host)
        for _ in range(ROUNDS_TO_DIE):
            if not self._tasks:
                return
            for task in list(self._tasks.values()):
                task.cancel()
            await asyncio.sleep(0)
        raise RuntimeError(f"{self.host} does not die: {list(self._tasks.values())}")

    def own(self, number: int, task: "asyncio.Task[Any]") -> None:
        """Called for every task made in this process."""
        if self.killed:
            task.cancel()
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number))
