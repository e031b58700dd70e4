"""What is wrong with a simulated disk at the moment."""

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Faults:
    unreadable: set[Path] = field(default_factory=set)
    """Directories whose files cannot be read: EIO."""
    unwritable: set[Path] = field(default_factory=set)
    """Directories whose files cannot be written, nor their names changed: EIO."""
    dead: set[Path] = field(default_factory=set)
    """Directories that are disks of their own, of which nothing works: EIO."""
    unflushable: set[Path] = field(default_factory=set)
    """Directories of which the next flush of a file that has something to flush fails, once: EIO."""
    room_bytes: int | None = None
    """By how much files may grow before the disk is full; None: as much as they like."""
    cold: float = 0.0
    """How often a read that may not wait finds its page not in memory."""

    def mend(self) -> None:
        self.unreadable.clear()
        self.unwritable.clear()
        self.dead.clear()
        self.unflushable.clear()
        self.room_bytes = None

    def takes(self, count: int) -> int:
        """How many of so many new bytes there is room for; at least one, or ENOSPC."""
        if self.room_bytes is None or count <= 0:
            return count
        taken = min(count, self.room_bytes)
        if taken == 0:
            raise no_room()
        self.room_bytes -= taken
        return taken


def is_in(path: Path, directories: set[Path]) -> bool:
    return bool(directories) and not directories.isdisjoint((path, *path.parents))


def input_output_error(path: Path) -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO), str(path))


def no_room() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
