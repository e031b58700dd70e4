"""Whole controllers under virtual time, with a directory they share and a network that can be cut."""

import asyncio
import random
from collections.abc import Sequence
from uuid import UUID

from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_controller.shell.open_store import open_store
from millstream_runtime.network.channel import ChannelUser
from millstream_runtime.network.frames import Frame
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.nodes.follower import Applied, MetadataFollower
from millstream_runtime.nodes.registration import AdvertisedListener, NodeIdentity, Registration
from millstream_runtime.properties import Properties
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_simulation.metadata_stores.api_server import ApiServer
from millstream_simulation.story import Story
from millstream_wire.messages import (
    CreateTopicsRequest,
)
from millstream_wire.messages.create_topics import CreatableTopic

TAKEOVER_MS = 3_000
HOSTS = ("c0", "c1", "c2")


def sound_api_server() -> ApiServer:
    """One that loses and refuses nothing unless it is cut off."""
    server = ApiServer(random.Random(1), Story(lambda: 0.0))
    for access in map(server.access, HOSTS):
        access.lost_requests = access.lost_replies = access.late_requests = access.refused = 0.0
    return server


class Machines:
    """Controllers on hosts c0, c1, c2 over one store, and a broker beside them."""

    def __init__(self, directory, seed: int = 1, api_server: ApiServer | None = None) -> None:
        """With an API server the store is in there, else in the directory."""
        self.directory = directory
        self.api_server = api_server
        self.random = random.Random(seed)
        self.network = SimulatedNetwork(self.random, Conditions())
        self.worlds: dict[str, SimulatedWorld] = {}
        self.apps: dict[str, ControllerApp] = {}
        self.running: dict[str, asyncio.Task[None]] = {}

    async def start(self, number: int, **settings: str) -> ControllerApp:
        host = f"c{number}"
        values = {
            "node.id": str(number),
            "listeners": f"CONTROLLER://{host}:9093",
            "controller.store": f"file:{self.directory}" if self.api_server is None else "kubernetes:ns/cluster",
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
        world = SimulatedWorld(self.network, host, self.random)
        opener = open_store if self.api_server is None else self.api_server.open
        app = ControllerApp(ControllerConfig.from_properties(Properties(values)), world, open_store=opener)
        self.worlds[host], self.apps[host] = world, app
        running = self.running[host] = world.start(app.run())
        ready = asyncio.ensure_future(app.ready.wait())
        await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if running.done():
            await running
        return app

    async def active(self, *, not_on: str = "", within_s: float = 30.0) -> str:
        async with asyncio.timeout(within_s):
            while True:
                for host, app in self.apps.items():
                    if host != not_on and not self.worlds[host].killed and app.health().detail.startswith("active"):
                        return host
                await asyncio.sleep(0.05)

    def broker(self, node_id: int = 1, disk: int = 7, applied: Applied | None = None) -> "Broker":
        return Broker(self, node_id, disk, applied=applied)


class Silent(ChannelUser):
    """Takes connections, so that the broker is seen to live."""

    def on_frame(self, frame: Frame) -> None:
        """Nobody asks the broker anything here."""

    def on_closed(self, reason: str) -> None:
        """Whoever looked has seen enough."""


class Broker:
    """What a broker is to controllers: it follows, registers and asks."""

    def __init__(
        self,
        machines: Machines,
        node_id: int,
        disk: int,
        bootstrap: Sequence[str] = HOSTS,
        applied: Applied | None = None,
    ) -> None:
        self.world = SimulatedWorld(machines.network, f"b{node_id}", machines.random)
        addresses = [(host, 9093) for host in bootstrap]
        self.link = ControllerLink(self.world, addresses, client_id=f"broker-{node_id}")
        self.follower = MetadataFollower(
            self.world, self.link, node_id=node_id, on_records=lambda *_: None, applied_before=applied
        )
        self.node_id = node_id
        self.disk = disk
        self.registration: Registration | None = None

    async def join(self) -> "Broker":
        self.running = self.world.start(self._run())
        async with asyncio.timeout(60):
            while self.registration is None or self.registration.fenced:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return self

    async def _run(self) -> None:
        await self.world.network.listen(f"b{self.node_id}", 9092, lambda _: Silent())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.follower.run())
            await self.follower.caught_up.wait()
            identity = NodeIdentity(
                self.node_id,
                self.follower.image.cluster_id or "",
                UUID(int=self.disk),
                (AdvertisedListener("PLAINTEXT", f"b{self.node_id}", 9092),),
            )
            self.registration = Registration(
                self.world,
                self.link,
                identity,
                heartbeat_interval_ms=500,
                session_timeout_ms=3_000,
                metadata_offset=lambda: self.follower.image.offset,
            )
            await self.registration.run()

    async def create(self, name: str, timeout_ms: int = 30_000) -> int:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        response = await self.link.request(CreateTopicsRequest(topics=[topic]), timeout_ms=timeout_ms)
        return response.topics[0].error_code

    async def sees(self, check, within_s: float = 30.0) -> None:
        async with asyncio.timeout(within_s):
            while not check(self.follower.image):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


def run(scenario):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(scenario)
