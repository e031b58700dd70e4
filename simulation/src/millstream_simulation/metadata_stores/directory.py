"""The directory of a FileStore on a disk of its own, and as a person sees it who makes copies of it."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from millstream_controller.config import StorePlace
from millstream_controller.shell.open_store import open_store
from millstream_controller.shell.store import Store
from millstream_runtime.world import World
from millstream_simulation.disks.sim_disk import SimDisk


class StoreDirectory:
    def __init__(self, path: Path, draw: random.Random, note: Callable[[str], None]) -> None:
        path.mkdir(parents=True)
        self.disk = SimDisk(path, draw, note)
        self._path = path
        self._backup = path.with_name(f"{path.name}-backup")
        self._draw = draw

    async def open(self, place: StorePlace, world: World, writer: str) -> Store:
        """As `open_store` of the controller."""
        return await open_store(place, world, writer, self.disk)

    def back_up(self) -> None:
        shutil.copytree(self._path, self._backup)

    def put_back(self) -> None:
        shutil.rmtree(self._path)
        self._backup.rename(self._path)
        self.disk = SimDisk(self._path, self._draw)
