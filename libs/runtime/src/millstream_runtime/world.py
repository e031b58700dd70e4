"""What a service gets of the outside: network, clocks, randomness, blocking work. Real or simulated, the service cannot tell.

A service takes nothing else of this kind: no `time`, no `random`, no `socket`, no thread of its own.
"""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from librt.time import time as wall_clock_s
from mypy_extensions import mypyc_attr

from millstream_runtime.metrics import Metrics
from millstream_runtime.network.links import Network
from millstream_runtime.serving.audit.records import AuditRecords

T = TypeVar("T")


@mypyc_attr(allow_interpreted_subclasses=True)
class World(ABC):
    def __init__(
        self, network: Network, generator: random.Random, metrics: Metrics, monotonic_s: Callable[[], float]
    ) -> None:
        self.network = network
        self.random = generator
        self.metrics = metrics
        """One per process; services register their own metrics."""
        self.audit_records = AuditRecords()
        """One per process: what its roles have said in the audit log and who has the connections for it writes to a topic."""
        self.monotonic_s = monotonic_s
        """The event loop's clock, as fine as it goes."""
        self.own_addresses: dict[tuple[str, int], tuple[str, int]] = {}
        """Where this process's listeners are, by what is advertised of them: a name that only clients can resolve, or a port that
        is published outside a container, is of no use to the roles of one process that talk to each other."""
        self.own_names: dict[tuple[str, int], str] = {}
        """Which name a certificate has to be of where one role of this process connects to another: the advertised one, by where it listens."""
        self.killed = False
        """Simulation only: the process was kill -9'd, so whoever is cancelled now must do no clean shutdown work."""

    @abstractmethod
    def now_ms(self) -> int:
        """The wall clock, for timestamps and as the cores' `now`."""

    @abstractmethod
    def monotonic_ms(self) -> int:
        """The event loop's clock, for durations and deadlines."""

    @abstractmethod
    async def run_blocking(self, work: Callable[[], T]) -> T:
        """Run work that blocks (fsync, a cold read, a directory scan) off the loop. Once begun it is done, even if the wait is cancelled."""

    async def run_to_end(self, work: Callable[[], T]) -> T:
        """As `run_blocking`, but whoever is cancelled waits until the work is done: it has what may be closed next."""
        working = asyncio.ensure_future(self.run_blocking(work))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            if not working.cancelled():
                working.exception()  # nobody is left to be told
            raise


class RealWorld(World):
    """The operating system's network, clocks and threads."""

    def __init__(self, network: Network, metrics: Metrics | None = None) -> None:
        super().__init__(network, random.SystemRandom(), metrics or Metrics(), time.monotonic)

    def now_ms(self) -> int:
        return int(wall_clock_s() * 1000)

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)
