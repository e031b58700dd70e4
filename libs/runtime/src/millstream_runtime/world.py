"""What a service gets of the outside: network, clocks, randomness, blocking work. Real or simulated, the service cannot tell.

A service takes nothing else of this kind: no `time`, no `random`, no `socket`, no thread of its own.
"""

import asyncio
import random
import time
from collections.abc import Callable
from time import time_ns
from typing import Protocol, TypeVar

from millstream_runtime.metrics import Metrics
from millstream_runtime.network import Network

T = TypeVar("T")


class World(Protocol):
    @property
    def network(self) -> Network: ...
    @property
    def random(self) -> random.Random: ...
    @property
    def metrics(self) -> Metrics:
        """One per process; services register their own metrics."""

    @property
    def killed(self) -> bool:
        """Simulation only: the process was kill -9'd, so whoever is cancelled now must do no clean shutdown work."""

    def now_ms(self) -> int:
        """The wall clock, for timestamps and as the cores' `now`."""

    def monotonic_ms(self) -> int:
        """The event loop's clock, for durations and deadlines."""

    def monotonic_s(self) -> float:
        """The same clock, as fine as it goes."""

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Run work that blocks (fsync, a cold read, a directory scan) off the loop; inline in simulation."""


class RealWorld:
    """The operating system's network, clocks and threads."""

    killed = False

    def __init__(self, network: Network, metrics: Metrics | None = None) -> None:
        self.network = network
        self.metrics = metrics if metrics is not None else Metrics()
        self.random: random.Random = random.SystemRandom()

    def now_ms(self) -> int:
        return time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    monotonic_s = staticmethod(time.monotonic)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)
