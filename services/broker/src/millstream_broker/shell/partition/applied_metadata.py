"""What this broker's disks remember of the metadata: how far it was applied, and which partitions have a directory here.

The first guards against a metadata log that was put back to an older state, for which newer partitions would be strays; the
second against a directory that went missing, which would else be made again, empty. Both lie beside the data, in one file. Of
several data directories each has the whole file, so that what one of them had is known without it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from functools import partial
from pathlib import Path
from threading import Lock
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.shell.partition.log_dirs import LogDirs
from millstream_cluster.ids import parse_uuid, uuid_text
from millstream_log import CorruptFile
from millstream_log.disk import Disk
from millstream_log.properties_file import load_properties, store_properties
from millstream_runtime.nodes.follower import Applied
from millstream_runtime.world import World
from millstream_wire.late_dataclass import dataclass

logger = logging.getLogger(__name__)

FILE_NAME = "metadata.applied"
_PARTITIONS_OF = "partitions."
_PATH_OF = "directory."
_IN = "@"


@dataclass(frozen=True, slots=True)
class _Noted:
    """What one file says."""

    sequence: int = 0
    """Of several copies the one with the highest number is the newest."""
    applied: Applied | None = None
    places: Mapping[ReplicaKey, UUID] = field(default_factory=dict)
    paths: Mapping[UUID, Path] = field(default_factory=dict)


class AppliedMetadata:
    """Invariants, for whoever makes directories:

    - `stored` covers the creation of every partition that has a directory: it is noted before the directory is made.
    - A partition in `places` has had a directory there, which was on the disk before the partition was listed; and a partition
      serves only once it is listed, in every data directory that can be used. So a listed one without a directory is lost, or
      in a data directory that failed; and one that is not listed never held anything that was acknowledged.

    Beyond that `stored` is written now and then and at the end, not per record: it may be behind what was applied.
    """

    def __init__(self, directories: LogDirs) -> None:
        """Raises CorruptFile rather than forget."""
        self._directories = directories
        self._writing = Lock()
        notes = [_load(each.path / FILE_NAME, each.disk, each.directory_id) for each in directories.online]
        newest = max(notes, key=lambda note: (note.sequence, note.applied.offset if note.applied else -1))
        self._sequence = newest.sequence
        self.stored = max((note.applied for note in notes if note.applied), key=lambda each: each.offset, default=None)
        self.places = newest.places
        """In which data directory each listed partition is, or was."""
        self.paths: Mapping[UUID, Path] = {
            **newest.paths,
            **{each.directory_id: each.path for each in directories.online},
        }
        """Where each directory was when it was last used."""
        self._has_copies = len(directories) > 1
        self._all_have_it = not self._has_copies or all(note == newest and note.paths == self.paths for note in notes)

    @property
    def listed(self) -> AbstractSet[ReplicaKey]:
        return self.places.keys()

    def note(self, applied: Applied | None, places: Mapping[ReplicaKey, UUID] | None = None) -> None:
        """Bring it to the disks, unless it is there; `places` None: as before. Raises OSError, and then nothing has changed."""
        with self._writing:
            before = self.stored
            newest = applied if before is None or (applied is not None and applied.offset > before.offset) else before
            listed = self.places if places is None else dict(places)
            if newest is None or (newest == before and listed == self.places and self._all_have_it):
                return
            sequence = self._sequence + (self._has_copies or self._sequence > 0)
            self._write(_Noted(sequence, newest, listed, self.paths), newest)
            self._sequence = sequence
            self._all_have_it = True
            self.stored, self.places = newest, listed

    def _write(self, noted: _Noted, applied: Applied) -> None:
        """To all; one that is just failing keeps an older copy."""
        properties = {"offset": str(applied.offset), "epoch": str(applied.epoch), "cluster.id": applied.cluster_id}
        if noted.sequence:  # also where there were several once: older copies may turn up again
            properties["sequence"] = str(noted.sequence)
        if self._has_copies:
            properties |= {f"{_PATH_OF}{uuid_text(each)}": str(path) for each, path in noted.paths.items()}
        properties |= _as_properties(noted.places, told=self._has_copies)
        failure: OSError | None = None
        written = 0
        for directory in list(self._directories.online):
            try:
                store_properties(directory.path / FILE_NAME, properties, directory.disk)
                written += 1
            except OSError as error:
                failure = error
                if not self._directories.is_failing(directory):
                    raise
        if not written and failure is not None:
            raise failure

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


def remembered_paths(paths: Iterable[Path], disk: Disk) -> Mapping[UUID, Path]:
    """Where the directories of this broker were when they were last used, as far as any of them can still be read."""
    newest = _Noted()
    for path in paths:
        try:
            noted = _load(path / FILE_NAME, disk, UUID(int=0))
        except (CorruptFile, OSError):
            continue  # whoever opens that directory says what is wrong with it
        newest = max(newest, noted, key=lambda each: each.sequence)
    return newest.paths


def _as_properties(places: Mapping[ReplicaKey, UUID], *, told: bool) -> dict[str, str]:
    """A line for each topic, of each directory if there are several, with its partitions' numbers."""
    lines: dict[str, list[int]] = {}
    for (topic_id, number), directory_id in sorted(places.items()):
        place = f"{_IN}{uuid_text(directory_id)}" if told else ""
        lines.setdefault(f"{_PARTITIONS_OF}{uuid_text(topic_id)}{place}", []).append(number)
    return {key: ",".join(map(str, numbers)) for key, numbers in lines.items()}


def _load(path: Path, disk: Disk, directory_id: UUID) -> _Noted:
    """`directory_id`: where the file lies, and so everything of which it does not say where it is."""
    properties = load_properties(path, disk)
    if properties is None:
        return _Noted()
    try:
        return _Noted(
            int(properties.get("sequence", 0)),
            Applied(int(properties["offset"]), int(properties["epoch"]), properties["cluster.id"]),
            dict(_placed(properties, directory_id)),
            {
                parse_uuid(key.removeprefix(_PATH_OF)): Path(text)
                for key, text in properties.items()
                if key.startswith(_PATH_OF)
            },
        )
    except (KeyError, ValueError) as error:
        raise CorruptFile(f"{path}: {error}") from error


def _placed(properties: Mapping[str, str], directory_id: UUID) -> Iterator[tuple[ReplicaKey, UUID]]:
    for key, numbers in properties.items():
        if key.startswith(_PARTITIONS_OF):
            topic, is_told, place = key.removeprefix(_PARTITIONS_OF).partition(_IN)
            for number in numbers.split(","):
                yield (parse_uuid(topic), int(number)), parse_uuid(place) if is_told else directory_id
