"""Small files that are replaced as a whole: a reader, or a crash, sees the old one or the new one."""

import os
from pathlib import Path

from millstream_log.disk import DISK, Disk


def replace_file(path: Path, data: bytes, *, durable: bool = False, disk: Disk = DISK) -> None:
    """Write `data` beside `path`, then rename it there; `durable` waits for the disk, file and directory."""
    scratch = path.with_name(path.name + ".tmp")
    write_file(scratch, data, durable=durable, disk=disk)
    disk.rename(scratch, path)
    if durable:
        disk.sync_directory(path.parent)


def write_file(path: Path, data: bytes, *, durable: bool = False, disk: Disk = DISK) -> None:
    """Let `data` be all that is in a file; a crash may leave any part of it."""
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        disk.write(fd, data, 0)
        if durable:
            disk.fsync(fd)
    finally:
        disk.close(fd)


def read_file(path: Path, disk: Disk = DISK) -> bytes:
    """All that is in a file."""
    fd = disk.open(path, os.O_RDONLY)
    try:
        return disk.read(fd, os.fstat(fd).st_size, 0)
    finally:
        disk.close(fd)
