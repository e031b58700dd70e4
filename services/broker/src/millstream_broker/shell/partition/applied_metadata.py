"""What metadata this broker's disk has seen applied, so that a metadata log that was put back to an older state is not believed.

Written now and then and at the end, not per record: it may be behind what was applied, never ahead of it. It lies beside the
data, since it is the data that an older log would take for strays.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from millstream_log import CorruptFile
from millstream_log.disk import DISK, Disk
from millstream_log.properties_file import load_properties, store_properties
from millstream_runtime.nodes.follower import Applied
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

FILE_NAME = "metadata.applied"


class AppliedMetadata:
    def __init__(self, directory: Path, disk: Disk = DISK) -> None:
        """Raises CorruptFile rather than forget."""
        self._disk = disk
        self._path = directory / FILE_NAME
        self.stored = _load(self._path, disk)

    def store(self, applied: Applied | None) -> None:
        """Note it durably, unless more is noted already."""
        if applied is None or (self.stored is not None and applied.offset <= self.stored.offset):
            return
        try:
            store_properties(
                self._path,
                {"offset": str(applied.offset), "epoch": str(applied.epoch), "cluster.id": applied.cluster_id},
                self._disk,
            )
        except OSError as error:
            logger.error("applied metadata not noted offset=%d reason=%s", applied.offset, error)
            return
        self.stored = applied

    async def run(self, world: World, applied: Callable[[], Applied | None], interval_ms: int) -> None:
        while True:
            await world.run_to_end(partial(self.store, applied()))
            await asyncio.sleep(interval_ms / 1000)


def _load(path: Path, disk: Disk) -> Applied | None:
    properties = load_properties(path, disk)
    if properties is None:
        return None
    try:
        return Applied(int(properties["offset"]), int(properties["epoch"]), properties["cluster.id"])
    except (KeyError, ValueError) as error:
        raise CorruptFile(f"{path}: {error}") from error
