"""A `millstream node` as a process of its own: started, killed, started again over the same data."""

import signal
import socket
import subprocess
from pathlib import Path

from broker import wait_until_it_answers

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".venv" / "bin" / "millstream"


class LocalNode:
    def __init__(self, directory: Path) -> None:
        self._port = _free_port()
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap_servers = f"127.0.0.1:{self._port}"
        self.data = directory / "data" / "broker"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._directory / "log").read_text()

    def start(self) -> None:
        with open(self._directory / "log", "ab") as log:
            command = [str(PROGRAM), "node", "--port", str(self._port), "--data", str(self._directory / "data")]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until_it_answers(self.bootstrap_servers, self._process, timeout_s=60)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    """Return a port whose three neighbours are free too: a node's roles listen side by side."""
    for _ in range(100):
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            try:
                for neighbour in range(port + 1, port + 4):
                    socket.create_server(("127.0.0.1", neighbour)).close()
            except (OSError, OverflowError):
                continue
            return port
    raise RuntimeError("no four free ports in a row")
