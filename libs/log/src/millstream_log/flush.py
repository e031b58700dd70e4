"""One fsync's worth of a log: which files have to reach the disk, and what is durable once they have."""

import os
from dataclasses import dataclass
from pathlib import Path

from millstream_log.atomic_file import sync_directory
from millstream_log.file_slice import SegmentFile


@dataclass(frozen=True, slots=True)
class Flush:
    """Made on the event loop; `perform` may run in a thread, as it touches nothing but these files."""

    files: tuple[SegmentFile, ...]
    indexes: tuple[Path, ...]
    directory: Path | None
    """The directory too, if files were made in it since it was last flushed."""
    end_offset: int
    generation: int

    def perform(self) -> None:
        for file in self.files:
            os.fdatasync(file.fileno())
        for path in self.indexes:
            _sync_index(path)
        if self.directory is not None:
            sync_directory(self.directory)


def _sync_index(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # retention was faster
    try:
        os.fdatasync(fd)
    finally:
        os.close(fd)
