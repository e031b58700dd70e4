"""Small files that are replaced as a whole: a reader, or a crash, sees the old one or the new one."""

import os
from pathlib import Path


def replace_file(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write `data` beside `path`, then rename it there; `durable` waits for the disk, file and directory."""
    scratch = path.with_name(path.name + ".tmp")
    with open(scratch, "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(scratch, path)
    if durable:
        sync_directory(path.parent)


def sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
