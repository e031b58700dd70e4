"""A disk under one directory, which knows what of its files and names has been flushed.

What it shows is in real files, best in memory: they are its page cache, and a killed process leaves them as they are. Beside them it
keeps what a power loss would leave. Faults are switched on and off from outside (`faults`).
"""

import errno
import os
import random
import shutil
import stat
from collections.abc import Callable
from itertools import count
from pathlib import Path

from millstream_log.disk import Disk
from millstream_simulation.disks.faults import Faults, input_output_error, is_in, no_room
from millstream_simulation.disks.names import Change, Gone, Made, Moved, kept_by, remove, undo
from millstream_simulation.disks.platter import Platter

_SPACE_BYTES = 1 << 30
"""How large the file system says it is."""


def _silent(situation: str) -> None:
    return


class SimDisk(Disk):
    """Whatever was there before it was made counts as flushed, and so does what is written beside it."""

    def __init__(self, root: Path, draw: random.Random, note: Callable[[str], None] = _silent) -> None:
        """`root` is there already; what may have to come back is kept beside it. `note` is told of situations."""
        self.root = root
        self.faults = Faults()
        self._draw = draw
        self._note = note
        self._kept = root.with_name(f"{root.name}.gone")
        if self._kept.exists():  # another's, who kept it for the same place
            shutil.rmtree(self._kept)
        self._keeps = False
        self._numbers = count()
        self._paths: dict[int, Path] = {}  # of open descriptors
        self._platters: dict[int, Platter] = {}  # by the file's inode; files without one are as flushed
        self._changes: dict[int, list[Change]] = {}  # by the directory's inode

    # ---- files ----

    def open(self, path: Path, flags: int) -> int:
        self._expect_alive(path)
        is_new = not os.path.exists(path)
        if flags & os.O_CREAT and is_new:
            self._expect_writable(path)
            self._expect_room()
        if flags & os.O_WRONLY:  # what is written over is read first
            flags ^= os.O_WRONLY | os.O_RDWR
        fd = super().open(path, flags & ~os.O_TRUNC)
        self._paths[fd] = path
        if is_new:
            self._platters[os.fstat(fd).st_ino] = Platter(b"")
            self._changed(path.parent, Made(path.name))
        elif flags & os.O_TRUNC:
            self.ftruncate(fd, 0)
        return fd

    def close(self, fd: int) -> None:
        self._paths.pop(fd, None)
        super().close(fd)

    def pread(self, fd: int, length: int, position: int) -> bytes:
        self._expect_readable(fd)
        return super().pread(fd, length, position)

    def pread_resident(self, fd: int, buffer: bytearray, position: int) -> int:
        self._expect_readable(fd)
        if self.faults.cold and self._draw.random() < self.faults.cold:
            self._note("cold read")
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return super().pread_resident(fd, buffer, position)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        self._expect_writable(self._paths[fd])
        platter, size = self._platter(fd)
        grown = max(0, position + len(data) - size)
        try:
            left_out = grown - self.faults.takes(grown)
        except OSError:
            if grown == len(data):
                self._note("disk full")
                raise
            left_out = grown
        written = super().pwrite(fd, memoryview(data)[: len(data) - left_out], position)
        if position > size:
            platter.note_resized(size, position)
        platter.note_written(position, position + written)
        return written

    def ftruncate(self, fd: int, size: int) -> None:
        self._expect_writable(self._paths[fd])
        platter, before = self._platter(fd)
        super().ftruncate(fd, size)
        platter.note_resized(before, size)

    def allocate(self, fd: int, size: int) -> None:
        self._expect_writable(self._paths[fd])
        platter, before = self._platter(fd)
        if size <= before:
            return
        if self.faults.room_bytes is not None and size - before > self.faults.room_bytes:
            self._note("disk full")
            raise no_room()
        self.faults.takes(size - before)
        super().ftruncate(fd, size)
        platter.note_written(before, size)

    def forget(self, fd: int, position: int) -> None:
        platter, size = self._platter(fd)
        shown = os.pread(fd, size, 0)
        os.pwrite(fd, platter.forget(shown, position), 0)

    def fsync(self, fd: int) -> None:
        path = self._paths[fd]
        self._expect_alive(path)
        status = os.fstat(fd)
        platter = self._platters.get(status.st_ino)
        if platter is None:
            return
        if not platter.is_clean and is_in(path, self.faults.unflushable):
            self.faults.unflushable -= {path, *path.parents}
            platter.fail_flush()
            self._note("flush failed")
            raise input_output_error(path)
        platter.flush(os.pread(fd, status.st_size, 0))

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    # ---- names ----

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent, "moved to another directory"
        self._expect_writable(source)
        replaced = None
        if os.path.exists(target):
            replaced = self._place_to_keep()
            os.link(target, replaced)
        os.rename(source, target)
        self._changed(target.parent, Moved(source.name, target.name, replaced))

    def unlink(self, path: Path) -> None:
        self._expect_writable(path)
        self._put_away(path)

    def mkdir(self, path: Path) -> None:
        self._expect_writable(path)
        self._expect_room()
        os.mkdir(path)
        self._changed(path.parent, Made(path.name))

    def rmdir(self, path: Path) -> None:
        self._expect_writable(path)
        if os.listdir(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(path))
        self._put_away(path)

    def sync_directory(self, directory: Path) -> None:
        self._expect_writable(directory)
        inode = directory.stat().st_ino
        for kept in kept_by(self._changes.pop(inode, [])):
            self._drop(kept)

    # ---- what happens to it ----

    def lose_power(self) -> None:
        """What was not flushed is lost, or not, or in part. Nobody has a file of this disk open any more."""
        self._note("power lost")
        self._undo_names(self.root)
        for path in sorted(self.root.rglob("*")):
            platter = self._platters.get(path.stat().st_ino)
            if platter is not None and path.is_file() and not platter.is_clean:
                shown = path.read_bytes()
                left = platter.after_power_loss(shown, self._draw)
                if left != shown:
                    self._note("file torn by power loss")
                    path.write_bytes(left)
        self._forget_all()

    def empty(self) -> None:
        """Another disk is there in its place. Nobody has a file of this one open any more."""
        self._note("disk emptied")
        for path in sorted(self.root.iterdir()):
            remove(path)
        self._forget_all()

    def replace(self, directory: Path) -> None:
        """A directory is a disk of its own, and another one, empty, is in its place. The others lose nothing by it."""
        self._note("log directory replaced")
        for path in sorted(directory.iterdir()):
            remove(path)
        self._forget_all()

    def lose_directory(self, directory: Path) -> None:
        """A directory is gone with all that was in it, as a file system check leaves it; the check flushes the rest."""
        self._note("directory lost")
        shutil.rmtree(directory)
        self._forget_all()

    def _undo_names(self, directory: Path) -> None:
        changes = self._changes.pop(directory.stat().st_ino, [])
        reached = self._draw.choice([0, len(changes), self._draw.randint(0, len(changes))])
        for change in reversed(changes[reached:]):
            self._note("name lost")
            undo(directory, change)
        for inner in sorted(directory.iterdir()):
            if inner.is_dir():
                self._undo_names(inner)

    def _forget_all(self) -> None:
        """From here on everything that is there counts as flushed."""
        self._platters.clear()
        self._changes.clear()
        if self._keeps:
            shutil.rmtree(self._kept)
            self._keeps = False

    # ---- within ----

    def _platter(self, fd: int) -> tuple[Platter, int]:
        """And the file's size."""
        status = os.fstat(fd)
        platter = self._platters.get(status.st_ino)
        if platter is None:
            platter = self._platters[status.st_ino] = Platter(os.pread(fd, status.st_size, 0))
        return platter, status.st_size

    def _put_away(self, path: Path) -> None:
        kept = self._place_to_keep()
        os.rename(path, kept)
        self._changed(path.parent, Gone(path.name, kept))

    def _place_to_keep(self) -> Path:
        if not self._keeps:
            self._kept.mkdir()
            self._keeps = True
        return self._kept / str(next(self._numbers))

    def _changed(self, directory: Path, change: Change) -> None:
        self._changes.setdefault(os.stat(directory).st_ino, []).append(change)

    def _drop(self, kept: Path) -> None:
        status = kept.lstat()
        if stat.S_ISDIR(status.st_mode):
            for inner in kept_by(self._changes.pop(status.st_ino, [])):
                self._drop(inner)
        elif status.st_nlink == 1:
            self._platters.pop(status.st_ino, None)
        remove(kept)

    def _expect_alive(self, path: Path) -> None:
        if self.faults.dead and is_in(path, self.faults.dead):
            raise input_output_error(path)

    def _expect_readable(self, fd: int) -> None:
        self._expect_alive(self._paths[fd])
        if self.faults.unreadable and is_in(self._paths[fd], self.faults.unreadable):
            self._note("EIO on read")
            raise input_output_error(self._paths[fd])

    def _expect_writable(self, path: Path) -> None:
        self._expect_alive(path)
        if self.faults.unwritable and is_in(path, self.faults.unwritable):
            self._note("EIO on write")
            raise input_output_error(path)

    def space(self, path: Path) -> tuple[int, int]:
        usable = _SPACE_BYTES if self.faults.room_bytes is None else self.faults.room_bytes
        return _SPACE_BYTES, usable

    def _expect_room(self) -> None:
        if self.faults.room_bytes == 0:
            self._note("disk full")
            raise no_room()
