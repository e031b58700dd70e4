"""Whether what was in a data directory that failed has room in the others, so that the controller may have it made again there."""

from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.partition.log_dirs import LogDirs
from millstream_broker.shell.partition.partitions import HostedPartitions
from millstream_log import DataDir

KEPT_FREE = 10
"""One part in so many of a file system is for what its partitions grow by."""

Space = Callable[[Path], tuple[int, int]]


class SpareRoom:
    """Looked at with each heartbeat while a directory is offline: copies that are under way take up what was free before."""

    def __init__(self, partitions: HostedPartitions, space: Space) -> None:
        """`space`: how many bytes a file system has, and how many of them may be used."""
        self._partitions = partitions
        self._space = space
        self._sizes: dict[ReplicaKey, int] = {}
        """Of what was in a directory when it failed; until it is in sync again."""

    def note(self, directory: DataDir) -> None:
        """It is about to be given up."""
        self._sizes.update({each.key: each.log.size for each in self._partitions if each.directory is directory})

    def replaceable(self) -> list[UUID]:
        """Directories that failed and have room in the others, all of them together."""
        offline = self._partitions.offline
        if not offline:
            return []
        hosted = list(self._partitions)
        mean = sum(each.log.size for each in hosted) // max(1, len(hosted))
        needed: dict[UUID, int] = {}
        for key, place in offline.items():
            # One that was offline at the start already is taken to be like the others.
            needed[place] = needed.get(place, 0) + self._sizes.get(key, mean)
        room = sum(map(self.of, self._open_ones())) - self._still_to_come()
        found = []
        for place, size in sorted(needed.items(), key=lambda item: (item[1], item[0])):
            if size <= room:
                room -= size
                found.append(place)
        return found

    def roomiest(self) -> DataDir:
        """Where one of those partitions is best made again."""
        return max(self._open_ones(), key=self.of)

    def of(self, directory: DataDir) -> int:
        """Bytes that may be used there and need not be kept free."""
        try:
            total_bytes, usable_bytes = self._space(directory.path)
        except OSError as error:
            self._directories.on_error(directory.path, error)
            return 0
        return max(0, usable_bytes - total_bytes // KEPT_FREE)

    @property
    def _directories(self) -> LogDirs:
        return self._partitions.directories

    def _open_ones(self) -> Iterable[DataDir]:
        online = self._directories.online
        return [each for each in online if not self._directories.is_cordoned(each.path)] or online

    def _still_to_come(self) -> int:
        """Of what is made again by now."""
        missing = 0
        for key, size in list(self._sizes.items()):
            replica = self._partitions.find(*key)
            if replica is None:
                if key not in self._partitions.offline and key not in self._partitions.lost:
                    del self._sizes[key]
            elif replica.partition.follows_in_sync:
                del self._sizes[key]
            else:
                missing += max(0, size - replica.log.size)
        return missing
