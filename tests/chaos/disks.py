"""A disk of its own for each broker: a file system in a file, that can be full, be emptied and lose what was not flushed.

Losing power is the file system's own shutdown call, as its crash tests use it: from then on nothing reaches the device, so
after it was mounted again the files are what a machine without power would have kept.
"""

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path

SIZE_BYTES = 512 << 20
_EXT4_IOC_SHUTDOWN = 0x8004587D
_WITHOUT_FLUSHING_THE_JOURNAL = 2
_BALLAST = "ballast"
_CHUNK_BYTES = 1 << 20


class Disk:
    """`logs` is where a broker keeps its partitions."""

    def __init__(self, directory: Path, name: str) -> None:
        self._image = directory / f"{name}.img"
        self._mounted_at = directory / name
        self.logs = self._mounted_at / "logs"

    def make(self) -> None:
        self._mounted_at.mkdir(parents=True)
        with self._image.open("wb") as image:
            image.truncate(SIZE_BYTES)
        _run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self._mount()
        self.logs.mkdir()

    def lose_power(self) -> None:
        """Whoever used it has been killed; it comes back with what was flushed."""
        descriptor = os.open(self._mounted_at, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _EXT4_IOC_SHUTDOWN, struct.pack("I", _WITHOUT_FLUSHING_THE_JOURNAL))
        finally:
            os.close(descriptor)
        _run("umount", str(self._mounted_at))
        self._mount()
        self.logs.mkdir(exist_ok=True)
        self.drain()  # that it was no longer full may have been forgotten too

    def empty(self) -> None:
        _empty(self.logs)

    def fill(self) -> None:
        """Nothing more can be written, not a byte."""
        descriptor = os.open(self._mounted_at / _BALLAST, os.O_CREAT | os.O_WRONLY)
        try:
            size, chunk = 0, _CHUNK_BYTES
            while chunk:
                try:
                    os.posix_fallocate(descriptor, size, chunk)
                    size += chunk
                except OSError:
                    chunk //= 2
        finally:
            os.close(descriptor)

    def drain(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            (self._mounted_at / _BALLAST).unlink()

    def keep(self, directory: Path) -> None:
        """Put what is on it beside the history, where it stays when the disk goes."""
        shutil.copytree(self.logs, directory / self._mounted_at.name)

    def remove(self) -> None:
        _run("umount", str(self._mounted_at))
        self._image.unlink()

    def _mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self._mounted_at))


class Folder:
    """Where no file system can be mounted: an ordinary directory, that can only be emptied."""

    def __init__(self, directory: Path, name: str) -> None:
        self.logs = directory / name / "logs"

    def make(self) -> None:
        self.logs.mkdir(parents=True)

    def empty(self) -> None:
        _empty(self.logs)

    def drain(self) -> None:
        """It is never full."""

    def keep(self, directory: Path) -> None:
        """It stays with the run's directory."""

    def remove(self) -> None:
        """It goes with the run's directory."""

    def lose_power(self) -> None:
        raise AssertionError("a plain directory keeps what was not flushed")

    def fill(self) -> None:
        raise AssertionError("a plain directory cannot be filled")


def _empty(directory: Path) -> None:
    shutil.rmtree(directory)
    directory.mkdir()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
