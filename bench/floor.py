"""The least that any server can do for a request on this machine, as a server to compare with: floor.c says what that is."""

import subprocess
from pathlib import Path

from cases import Client

HERE = Path(__file__).resolve().parent


class FloorProcess:
    """A program that says its port in its first line."""

    def __init__(self, name: str, directory: Path, command: list[str], client: Client | None = None) -> None:
        self.name = name
        self._directory = directory
        self._command = command
        self._client = client or {}
        self._process: subprocess.Popen[str] | None = None
        self._port = 0

    @property
    def pids(self) -> tuple[int, ...]:
        assert self._process is not None, "not started"
        return (self._process.pid,)

    @property
    def client(self) -> Client:
        return {"bootstrap.servers": f"127.0.0.1:{self._port}", **self._client}

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Floor(FloorProcess):
    def __init__(self, directory: Path) -> None:
        self._program = directory / "floor"
        super().__init__("floor (C)", directory, [str(self._program), str(directory / "written")])

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O2", "-o", str(self._program), str(HERE / "floor.c")], check=True)
        super().start()
