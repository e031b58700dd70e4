"""A disk that gives EIO for some files while it is told to: a library that processes load before the C library (`faulty_disk.c`)."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_suffix(".c")


class FaultyDisk:
    """Of the processes that are started from here on, files whose path contains `where` give errors while it is told to."""

    def __init__(self, directory: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("making a disk faulty takes a C compiler")
        library = directory / "faulty_disk.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
        self._switch = directory / "faulty"
        monkeypatch.setenv("LD_PRELOAD", str(library))
        monkeypatch.setenv("FAULTY_PATH", where)
        monkeypatch.setenv("FAULTY_WHILE", str(self._switch))

    def fail(self) -> None:
        self._switch.touch()

    def heal(self) -> None:
        self._switch.unlink()
