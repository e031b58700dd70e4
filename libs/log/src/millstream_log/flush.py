"""One fsync's worth of a log: which files have to reach the disk, and what is durable once they have."""

import os
from dataclasses import dataclass
from pathlib import Path

from millstream_log.disk import Disk
from millstream_log.file_slice import SegmentFile


@dataclass(frozen=True, slots=True)
class Flush:
    """Made on the event loop; `perform` may run in a thread, as it touches nothing but these files."""

    disk: Disk
    files: tuple[SegmentFile, ...]
    indexes: tuple[Path, ...]
    directory: Path | None
    """The directory too, if files were made in it since it was last flushed."""
    end_offset: int
    generation: int

    def perform(self) -> None:
        for file in self.files:
            self.disk.fdatasync(file.fileno())
        for path in self.indexes:
            _sync_index(self.disk, path)
        if self.directory is not None:
            self.disk.sync_directory(self.directory)


def _sync_index(disk: Disk, path: Path) -> None:
    try:
        fd = disk.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return  # retention was faster
    try:
        disk.fdatasync(fd)
    finally:
        disk.close(fd)
