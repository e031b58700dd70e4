"""The data directories of this broker: those that can be used, and those that failed while the others go on (KIP-112, KIP-858).

A failure is met in whatever thread used the disk, and acted upon on the event loop. The last directory is never given up: it is
worked with as far as it goes, partition by partition, and so is an only one.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

from millstream_log import DataDir, LogError, TopicPartition
from millstream_log.disk import DISK, Disk
from millstream_log.watched_disk import WatchedDisk
from millstream_runtime.world import World
from millstream_wire.late_dataclass import dataclass

logger = logging.getLogger(__name__)

LOOK_MS = 5_000
"""How often it is seen to that the directories are there at all: nobody may have asked them for anything."""
ALL = "*"
PREFERRED_MAX = 10_000


HighWatermarks: TypeAlias = dict[UUID, dict[TopicPartition, int]]
"""Of the partitions in each directory, by its id."""


@dataclass(frozen=True, slots=True)
class OfflineDir:
    """A directory that cannot be used until the broker starts again."""

    path: Path
    directory_id: UUID | None
    """None: it could not be opened, and nobody remembers which one it was."""
    reason: str


class LogDirs:
    """Invariant: at least one is online."""

    def __init__(self, online: Sequence[DataDir], offline: Sequence[OfflineDir] = (), *, disk: Disk = DISK) -> None:
        self.online = list(online)
        self.offline = list(offline)
        self.disk = disk
        """The one below all of them, for what belongs to none."""
        self.cordoned: Collection[str] = ()
        """Paths that get no new partitions (KIP-1066)."""
        self.hanging: set[DataDir] = set()
        """Which take longer to write something down than a leader may take; until they have."""
        self._preferred: dict[TopicPartition, DataDir] = {}
        self._reports: list[tuple[Path, OSError]] = []
        self._reported: set[Path] = set()
        self._last_one: Path | None = None
        """Of which was said that it fails and stays."""
        self._told = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    # ---- what they are ----

    def __len__(self) -> int:
        """How many were configured."""
        return len(self.online) + len(self.offline)

    @property
    def ids(self) -> tuple[UUID, ...]:
        """Of those that can be used."""
        return tuple(directory.directory_id for directory in self.online)

    @property
    def offline_ids(self) -> list[UUID]:
        return [each.directory_id for each in self.offline if each.directory_id is not None]

    @property
    def incarnation_id(self) -> UUID:
        return self.online[0].incarnation_id

    @property
    def cluster_id(self) -> str | None:
        return next((each.cluster_id for each in self.online if each.cluster_id is not None), None)

    def set_cluster_id(self, cluster_id: str) -> None:
        """Bind all of them. Raises UnusableDirectory if one belongs to another cluster."""
        for directory in self.online:
            directory.set_cluster_id(cluster_id)

    @property
    def was_clean(self) -> bool:
        return all(directory.was_clean or directory.is_new for directory in self.online)

    @property
    def clean_broker_epoch(self) -> int:
        """In which life of this broker everything in all of them was brought to the disk at its end; -1 if that is not known."""
        epochs = {directory.clean_broker_epoch for directory in self.online if not directory.is_new}
        return epochs.pop() if len(epochs) == 1 else -1

    def find(self, directory_id: UUID) -> DataDir | None:
        """One that can be used."""
        return next((each for each in self.online if each.directory_id == directory_id), None)

    def may_be_offline(self, directory_id: UUID, path: Path | None) -> bool:
        """Whether this directory, which was at this path when it was last used, is one of those that failed.

        If not, it was replaced or taken away, and what was in it is gone.
        """
        return any(
            each.directory_id == directory_id or (each.directory_id is None and path in (None, each.path))
            for each in self.offline
        )

    def reason(self, directory_id: UUID) -> str:
        """What one that failed was given up for."""
        return next((each.reason for each in self.offline if each.directory_id == directory_id), "")

    def is_cordoned(self, path: Path) -> bool:
        return ALL in self.cordoned or str(path.absolute()) in self.cordoned

    # ---- partitions ----

    def partitions(self) -> Iterator[tuple[DataDir, TopicPartition]]:
        """Which have a directory, and where."""
        for directory in self.online:
            for name in sorted(directory.partitions()):
                yield directory, name

    def copies(
        self, on_unreadable: Callable[[TopicPartition, Exception], None]
    ) -> dict[TopicPartition, list[tuple[DataDir, UUID | None]]]:
        """Where each partition is found, more than once if it was moved, and of which topic as far as it says so."""
        found: dict[TopicPartition, list[tuple[DataDir, UUID | None]]] = {}
        for directory, name in self.partitions():
            try:
                topic_id = directory.topic_id(name)
                found.setdefault(name, []).append((directory, topic_id))
            except (OSError, LogError) as error:
                on_unreadable(name, error)
        return found

    def for_new(self, name: TopicPartition) -> DataDir:
        """Where a partition is to be made: where it has files already, else where there are fewest partitions."""
        if len(self.online) == 1:
            return self.online[0]
        for directory in self.online:
            if (directory.path / str(name)).is_dir():
                return directory
        preferred = self._preferred.pop(name, None)
        if preferred in self.online:
            return preferred
        open_ones = [each for each in self.online if not self.is_cordoned(each.path)] or self.online
        return min(open_ones, key=lambda directory: len(directory.logs))

    def prefer(self, name: TopicPartition, directory: DataDir) -> None:
        """Where somebody wants a partition to be made, should it come."""
        if len(self._preferred) < PREFERRED_MAX or name in self._preferred:
            self._preferred[name] = directory

    def suggest(self, name: TopicPartition, directory: DataDir) -> None:
        """Where a partition is to be made if nobody wants it elsewhere."""
        if name not in self._preferred:
            self.prefer(name, directory)

    # ---- failures ----

    def on_error(self, path: Path, error: OSError) -> None:
        """A disk says what it says once it has failed. Any thread may call this."""
        self._reports.append((path, error))
        self._reported.add(path)
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        if _runs_here(loop):
            self._told.set()
        else:
            loop.call_soon_threadsafe(self._told.set)

    def is_failing(self, directory: DataDir) -> bool:
        """Whether it failed and is about to be given up. Any thread may call this."""
        return len(self.online) > 1 and directory.path in self._reported

    def take_failed(self) -> list[DataDir]:
        """Those that have failed since the last time; they are offline from now on, and what is open there is the caller's to close."""
        failed = []
        while self._reports:
            path, error = self._reports.pop(0)
            directory = next((each for each in self.online if each.path == path), None)
            if directory is None:
                continue
            if len(self.online) == 1:
                if path != self._last_one:
                    logger.error("log directory fails and is the last one path=%s reason=%s", path, error)
                self._last_one = path
                continue
            self.online.remove(directory)
            self.offline.append(OfflineDir(path, directory.directory_id, str(error)))
            failed.append(directory)
        return failed

    async def run(self, world: World, on_failed: Callable[[Sequence[DataDir]], None]) -> None:
        """Have directories given up that fail; an only one never is."""
        self._loop = asyncio.get_running_loop()
        while True:
            self._told.clear()
            if failed := self.take_failed():
                on_failed(failed)
            try:
                async with asyncio.timeout(LOOK_MS / 1000 if len(self.online) > 1 else None):
                    await self._told.wait()
            except TimeoutError:
                for disk in [each.disk for each in self.online]:
                    if isinstance(disk, WatchedDisk):
                        await world.run_blocking(disk.look)

    # ---- checkpoints and the end ----

    def checkpoint(self, high_watermarks: HighWatermarks) -> None:
        """Of all of them. Raises OSError once all was tried."""
        failure: OSError | None = None
        for directory in self.online:
            try:
                directory.checkpoint(high_watermarks[directory.directory_id])
            except OSError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def close(self, high_watermarks: HighWatermarks, *, broker_epoch: int) -> None:
        """Leave them so that the next start needs no recovery. Raises OSError or LogError once all was tried."""
        failure: OSError | LogError | None = None
        for directory in self.online:
            try:
                directory.close(high_watermarks[directory.directory_id], broker_epoch=broker_epoch)
            except (OSError, LogError) as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def close_all(self) -> None:
        for directory in self.online:
            directory.abandon()


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
