"""A broker's or coordinator's membership: registers with the active controller and heartbeats for as long as it runs.

What a heartbeat's answer means for the node (fenced, asked to stop) is reported, not acted upon.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from millstream_runtime.controllers import ControllerLink
from millstream_runtime.world import World


@dataclass(frozen=True, slots=True)
class AdvertisedListener:
    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    node_id: int
    cluster_id: str
    incarnation_id: UUID
    listeners: tuple[AdvertisedListener, ...]
    rack: str | None = None
    log_dirs: tuple[UUID, ...] = ()


class RegistrationRefused(Exception):
    """The controller will never take this registration (another cluster id, the id is in use): one clear line."""


class Registration:
    """`await registered.wait()` for the first success; `broker_epoch` is the epoch of the newest one, -1 before."""

    def __init__(
        self,
        world: World,
        link: ControllerLink,
        identity: NodeIdentity,
        *,
        heartbeat_interval_ms: int,
        session_timeout_ms: int,
        metadata_offset: Callable[[], int],
    ) -> None:
        self.registered = asyncio.Event()
        self.broker_epoch = -1
        self.fenced = True

    async def run(self) -> None:
        """Register, heartbeat, register again when our epoch is stale; until cancelled. Raises RegistrationRefused."""

    async def leave(self, *, timeout_ms: int) -> None:
        """Controlled shutdown: ask by heartbeat until the controller lets go or the time is over (while `run` runs)."""
