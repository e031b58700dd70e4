"""What a process hosts: a service runs until it is cancelled, says where it listens, and whether it is well.

class BrokerApp:                                    # a Service
    def __init__(self, config: BrokerConfig, world: World) -> None: ...
"""

import asyncio
from typing import Protocol

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    healthy: bool
    """False: the process should be restarted (/healthz)."""
    ready: bool
    """True: it does its work for clients now (/readyz)."""
    detail: str = ""


class Service(Protocol):
    @property
    def name(self) -> str:
        """ "broker-1", "controller-20001": how logs and /readyz call it."""

    @property
    def ready(self) -> asyncio.Event:
        """Set once the service takes requests and is registered."""

    @property
    def listeners(self) -> dict[str, tuple[str, int]]:
        """Listener name to the (host, port) it really listens on; complete once `ready` is set."""

    async def run(self) -> None:
        """Run until cancelled; shut down cleanly on the way out unless `world.killed`.

        What cannot work (a directory of another cluster, a port in use) raises `ServiceFailed` with one clear line.
        """

    def health(self) -> Health: ...


class ServiceFailed(Exception):
    """The service cannot start or go on; the message is one line for a person."""
