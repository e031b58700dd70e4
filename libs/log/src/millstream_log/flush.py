"""Bringing a log to its disk: what one flush has to do, and what all of them together have achieved."""

import os
import threading
from pathlib import Path
from typing import Final

from mypy_extensions import i64

from millstream_log.disk import Disk
from millstream_log.errors import StorageError
from millstream_log.file_slice import SegmentFile

UNDER_TRUNCATION: Final = OSError("a truncation is under way")
"""Stands for a failure until the disk has followed: nothing is appended or flushed meanwhile."""
GIVEN_UP: Final = OSError("the log was let go of")
"""A truncation that has not begun in its thread by then must not begin: its directory may be another log's."""


class FlushState:
    """How far a log is on its disk. Its flushes share this and happen one after the other, in whatever threads they run.

    The kernel tells of data that it could not write once, to one of the descriptors: of two flushes at the same time the other
    would take what was lost to be on the disk. So a failure is noted by the flush that met it, in its thread, before the
    next one may begin, and is final.
    """

    __slots__ = ("failure", "generation", "lock", "names_flushed", "names_made", "recovery_point")

    def __init__(self, recovery_point: i64) -> None:
        self.lock = threading.Lock()
        """Held while a flush is performed."""
        self.failure: OSError | None = None
        """Set once (but for UNDER_TRUNCATION): the log takes no more appends, and no flush moves the recovery point."""
        self.recovery_point: i64 = recovery_point
        """Everything before it is on the disk, file names and leader epochs included. Only the event loop moves it."""
        self.generation: i64 = 0
        """How often the log was cut: a flush of an earlier generation says nothing about what was appended since."""
        self.names_made: i64 = 1
        """Counts the names made in the directory."""
        self.names_flushed: i64 = 0
        """How many of them are on the disk: a name made while a flush is under way is not among them."""


class Flush:
    """Made on the event loop; `perform` may run in a thread, as it touches nothing but these files."""

    __slots__ = ("_directory", "_disk", "_files", "_paths", "_state", "end_offset", "generation", "names")

    def __init__(
        self,
        state: FlushState,
        disk: Disk,
        *,
        files: tuple[SegmentFile, ...],
        paths: tuple[Path, ...],
        directory: Path,
        end_offset: int,
    ) -> None:
        self._state = state
        self._disk = disk
        self._files = files
        self._paths = paths
        self._directory: Path | None = directory if state.names_flushed < state.names_made else None
        self.end_offset = end_offset
        self.generation = state.generation
        self.names = state.names_made

    def perform(self) -> None:
        """Wait for the disk. An error is final for the log, and so is one of a flush before this one."""
        state = self._state
        with state.lock:
            if state.failure is not None:
                raise StorageError(f"an earlier flush failed: {state.failure}")
            try:
                self._sync()
            except OSError as error:
                state.failure = error
                raise

    def _sync(self) -> None:
        for file in self._files:
            self._disk.fdatasync(file.fileno())
        for path in self._paths:
            _sync_path(self._disk, path)
        if self._directory is not None:
            self._disk.sync_directory(self._directory)


def _sync_path(disk: Disk, path: Path) -> None:
    try:
        fd = disk.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return  # retention was faster
    try:
        disk.fdatasync(fd)
    finally:
        disk.close(fd)
