"""One simulated machine with one process of the product, which dies and starts again."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

from millstream.builders import Build, builder_of
from millstream.processes import PlannedProcess
from millstream.roles import Role
from millstream_broker.app import BrokerApp
from millstream_broker.config import BrokerConfig
from millstream_broker.core.hosting import ReplicaKey
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_controller.shell.open_store import OpenStore
from millstream_runtime.properties import Properties
from millstream_runtime.service import Service
from millstream_runtime.simulated.clock import Clock
from millstream_runtime.simulated.network import SimulatedNetwork
from millstream_runtime.simulated.pace import NodePace
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_simulation.disks.losses import held
from millstream_simulation.disks.sim_disk import SimDisk
from millstream_simulation.story import Story


class Host:
    """Its disk outlives its processes; each process has a world of its own."""

    def __init__(
        self,
        planned: PlannedProcess,
        network: SimulatedNetwork,
        seed: int,
        story: Story,
        failed: Callable[[str, BaseException | None], None],
        open_store: OpenStore,
        clock: Clock,
        *,
        cold_reads: float = 0.0,
    ) -> None:
        """`cold_reads`: how often a read that may not wait finds nothing in memory."""
        self.name = planned.name
        self.role: Role = planned.role
        self.service: Service | None = None
        self.stopping: Service | None = None
        """While it stops in peace; what it has is still there, and may count."""
        self.clock = clock
        self.pace = NodePace(random.Random(f"{seed} {planned.name} pace"))
        self.lost: dict[ReplicaKey, str] = {}
        """Partitions that its disk held records of and lost, and what they are called."""
        self._planned = planned
        self._network = network
        self._seed = seed
        self._story = story
        self._failed = failed
        self._open_store = open_store
        self._cold_reads = cold_reads
        self._disk: SimDisk | None = None
        self._lives = 0
        self._world: SimulatedWorld | None = None
        self._ending = False

    @property
    def address(self) -> tuple[str, int]:
        return self._planned.host, self._planned.port

    @property
    def world(self) -> SimulatedWorld | None:
        """That of its process, while it is up."""
        return self._world

    @property
    def up(self) -> bool:
        return self._world is not None

    @property
    def disk(self) -> SimDisk:
        """A broker's, mounted where its data is."""
        assert self.role is Role.BROKER
        if self._disk is None:
            mount = self._planned.directory / "logs"
            for each in self.log_dirs:
                each.mkdir(parents=True, exist_ok=True)
            self._disk = SimDisk(mount, random.Random(f"{self._seed} {self.name} disk"), self._story.note)
            self._disk.faults.cold = self._cold_reads
        return self._disk

    @property
    def log_dirs(self) -> list[Path]:
        """A broker's data directories, all of them on its disk."""
        return [Path(each) for each in self._planned.properties["log.dirs"].split(",")]

    async def lose_power(self) -> None:
        """kill -9 with what the page cache has."""
        await self.kill()
        self.disk.lose_power()
        self._story.add("power lost", process=self.name)

    def lose_directory(self, topic: str, draw: random.Random) -> None:
        """One partition's of this topic, with what it holds; its process is down."""
        there = {key: path for key, path in self._held().items() if path.name.startswith(f"{topic}-")}
        if there:
            key, path = draw.choice(list(there.items()))
            self.lost[key] = path.name
            self.disk.lose_directory(path)
            self._story.add("directory lost", process=self.name, partition=path.name)

    def lose_disk(self) -> None:
        """Another one is there in its place, empty; its process is down."""
        self.lost.update((key, path.name) for key, path in self._held().items())
        self.disk.faults.dead.clear()
        self.disk.empty()
        for each in self.log_dirs:
            each.mkdir(exist_ok=True)
        self._story.add("disk emptied", process=self.name)

    def replace_log_dir(self, log_dir: Path) -> None:
        """Another one is there in its place, empty; its process is down."""
        self.lost.update((key, path.name) for key, path in held(log_dir).items())
        self.disk.replace(log_dir)
        self._story.add("log directory replaced", process=self.name, path=log_dir.name)

    def start(self) -> None:
        assert self._world is None
        self._lives += 1
        self._ending = False
        self._planned.directory.mkdir(parents=True, exist_ok=True)
        draws = random.Random(f"{self._seed} {self.name} {self._lives}")
        world = SimulatedWorld(self._network, self.name, draws, clock=self.clock, pace=self.pace)
        self.service = self._build()(world)
        self._world = world
        self._story.add("started", process=self.name, life=self._lives)
        world.start(self.service.run()).add_done_callback(self._ended)

    async def kill(self) -> None:
        """kill -9."""
        world = self._end("killed")
        await world.kill()

    async def stop(self) -> None:
        """SIGTERM."""
        self.stopping = self.service
        world = self._end("stopping")
        await world.stop()
        self.stopping = None
        await world.kill()  # the process exits
        self._story.add("stopped", process=self.name)

    def pause(self, seconds: float) -> None:
        """SIGSTOP: it sleeps and does not know."""
        assert self._world is not None
        self._story.add("paused", process=self.name)
        self._story.note("process paused")
        self._world.pause(seconds)

    def _held(self) -> dict[ReplicaKey, Path]:
        return {key: path for each in self.log_dirs if each.exists() for key, path in held(each).items()}

    def _build(self) -> Build:
        properties = Properties(self._planned.properties)
        if self.role is Role.BROKER:
            broker_config = BrokerConfig.from_properties(properties)
            return lambda world: BrokerApp(broker_config, world, self.disk)
        if self.role is not Role.CONTROLLER:
            return builder_of(self.role, properties)
        config = ControllerConfig.from_properties(properties)
        return lambda world: ControllerApp(config, world, open_store=self._open_store)

    def _end(self, event: str) -> SimulatedWorld:
        assert self._world is not None
        world, self._world = self._world, None
        self.service = None
        self._ending = True
        self._story.add(event, process=self.name)
        return world

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not self._ending:
            self._failed(self.name, None if task.cancelled() else task.exception())
