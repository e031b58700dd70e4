"""What this disk remembers of the metadata: how far it was applied, and which partitions have a directory here.

The first guards against a metadata log that was put back to an older state, for which newer partitions would be strays; the
second against a directory that went missing, which would else be made again, empty. Both lie beside the data, in one file.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_cluster.ids import parse_uuid, uuid_text
from millstream_log import CorruptFile
from millstream_log.disk import DISK, Disk
from millstream_log.properties_file import load_properties, store_properties
from millstream_runtime.nodes.follower import Applied
from millstream_runtime.world import World

logger = logging.getLogger(__name__)

FILE_NAME = "metadata.applied"
_PARTITIONS_OF = "partitions."


class AppliedMetadata:
    """Invariants, for whoever makes directories:

    - `stored` covers the creation of every partition that has a directory: it is noted before the directory is made.
    - A partition in `listed` has had a directory, which was on the disk before the partition was listed; and a partition
      serves only once it is listed. So a listed one without a directory is lost, and one that is not listed never held
      anything that was acknowledged.

    Beyond that `stored` is written now and then and at the end, not per record: it may be behind what was applied.
    """

    def __init__(self, directory: Path, disk: Disk = DISK) -> None:
        """Raises CorruptFile rather than forget."""
        self._path = directory / FILE_NAME
        self._disk = disk
        self._writing = Lock()
        self.stored, self.listed = _load(self._path, disk)

    def note(self, applied: Applied | None, listed: Collection[ReplicaKey] | None = None) -> None:
        """Bring it to the disk, unless it is there; `listed` None: as before. Raises OSError, and then nothing has changed."""
        with self._writing:
            before = self.stored
            newest = applied if before is None or (applied is not None and applied.offset > before.offset) else before
            partitions = self.listed if listed is None else frozenset(listed)
            if newest is None or (newest == before and partitions == self.listed):
                return
            properties = {"offset": str(newest.offset), "epoch": str(newest.epoch), "cluster.id": newest.cluster_id}
            store_properties(self._path, {**properties, **_as_properties(partitions)}, self._disk)
            self.stored, self.listed = newest, partitions

    def store(self, applied: Applied | None) -> None:
        """As `note`, where it is only good to have."""
        try:
            self.note(applied)
        except OSError as error:
            offset = applied.offset if applied is not None else -1
            logger.error("applied metadata not noted offset=%d reason=%s", offset, error)

    async def run(self, world: World, applied: Callable[[], Applied | None], interval_ms: int) -> None:
        while True:
            await world.run_to_end(partial(self.store, applied()))
            await asyncio.sleep(interval_ms / 1000)


def _as_properties(partitions: Collection[ReplicaKey]) -> dict[str, str]:
    """A line for each topic, with its partitions' numbers."""
    by_topic: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(partitions):
        by_topic.setdefault(topic_id, []).append(number)
    return {f"{_PARTITIONS_OF}{uuid_text(topic_id)}": ",".join(map(str, found)) for topic_id, found in by_topic.items()}


def _load(path: Path, disk: Disk) -> tuple[Applied | None, frozenset[ReplicaKey]]:
    properties = load_properties(path, disk)
    if properties is None:
        return None, frozenset()
    try:
        applied = Applied(int(properties["offset"]), int(properties["epoch"]), properties["cluster.id"])
        return applied, frozenset(_listed(properties))
    except (KeyError, ValueError) as error:
        raise CorruptFile(f"{path}: {error}") from error


def _listed(properties: Mapping[str, str]) -> list[ReplicaKey]:
    return [
        (parse_uuid(key.removeprefix(_PARTITIONS_OF)), int(number))
        for key, numbers in properties.items()
        if key.startswith(_PARTITIONS_OF)
        for number in numbers.split(",")
    ]
