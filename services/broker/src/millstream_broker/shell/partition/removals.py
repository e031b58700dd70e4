"""What has been deleted and is out of the way: its files go once file.delete.delay.ms has passed. The next start finds the rest.

Removing a large file takes a file system its time, so a thread does it, one path after the other.
"""

import asyncio
import heapq
import logging
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from millstream_log.disk import DISK, Disk, remove_tree, unlink_if_there
from millstream_runtime.world import World

logger = logging.getLogger(__name__)


class Removals:
    """Files and directories by when they may go."""

    def __init__(self, world: World, disk: Disk = DISK) -> None:
        self._disk = disk
        self._world = world
        self._due: list[tuple[int, Path]] = []  # a heap
        self._sooner = asyncio.Event()

    def add(self, paths: Iterable[Path], delay_ms: int) -> None:
        at_ms = self._world.monotonic_ms() + delay_ms
        for path in paths:
            heapq.heappush(self._due, (at_ms, path))
        self._sooner.set()

    async def run(self) -> None:
        while True:
            self._sooner.clear()
            await self.remove_due()
            try:
                async with asyncio.timeout(self._wait_s()):
                    await self._sooner.wait()
            except TimeoutError:
                continue

    async def remove_due(self) -> None:
        while self._due and self._due[0][0] <= self._world.monotonic_ms():
            _, path = heapq.heappop(self._due)
            try:
                await self._world.run_blocking(partial(_remove, self._disk, path))
            except OSError as error:
                logger.error("deleted files not removed path=%s reason=%s", path, error)

    def _wait_s(self) -> float | None:
        return max(0, self._due[0][0] - self._world.monotonic_ms()) / 1000 if self._due else None


def _remove(disk: Disk, path: Path) -> None:
    if path.is_dir():
        remove_tree(disk, path)
    else:
        unlink_if_there(disk, path)  # its partition may have been deleted meanwhile
