"""The product as its users start it: real processes on loopback, that tests talk to, kill and start again."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from own_ports import free_ports

from millstream.processes import LOOPBACK
from millstream.roles import PORTS

MILLSTREAM = str(Path(sys.executable).parent / "millstream")
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60
CONTROLLERS_AND_COORDINATORS = 4


class ServerProcess:
    """One command of ours; it is up once it has printed its line."""

    def __init__(self, arguments: Sequence[str], log: Path, *, program: str = MILLSTREAM) -> None:
        """`program`: another release's, where that is what the test is about."""
        self._arguments = list(arguments)
        self._program = program
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self.ready_line = ""

    def start(self) -> "ServerProcess":
        stderr = self._log.open("a")
        self._process = subprocess.Popen(
            [self._program, *self._arguments], stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
        )
        stderr.close()
        self.ready_line = self._first_line()
        return self

    def _first_line(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(START_TIMEOUT_S, self._process.kill)
        watchdog.start()
        line = self._process.stdout.readline()
        watchdog.cancel()
        if not line:
            raise AssertionError(f"millstream {' '.join(self._arguments)} did not start:\n{self.log_tail()}")
        return line

    @property
    def bootstrap(self) -> str:
        found = re.search(r"[\d.]+:\d+(,[\d.]+:\d+)*", self.ready_line)
        assert found is not None, self.ready_line
        return found.group()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._ended()

    def stop(self) -> int:
        """As Ctrl-C does; the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._ended()

    def _ended(self) -> int:
        assert self._process is not None
        code = self._process.wait(STOP_TIMEOUT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def log_tail(self) -> str:
        return self._log.read_text()[-4000:] if self._log.exists() else ""

    def end(self) -> None:
        """Whatever state it is in, nothing of it is left; its children share its process group."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._ended()


@contextlib.contextmanager
def node(
    directory: Path, *settings: str, port: int | None = None, program: str = MILLSTREAM, more: Sequence[str] = ()
) -> Iterator[ServerProcess]:
    """The all-in-one node, as `make run` starts it."""
    port = free_port() if port is None else port
    arguments = ["node", "--port", str(port), "--data", str(directory / "data"), *more]
    for setting in settings:
        arguments += ["--set", setting]
    server = ServerProcess(arguments, directory / "node.log", program=program)
    try:
        yield server.start()
    finally:
        server.end()


@contextlib.contextmanager
def console(directory: Path, bootstrap: str, *more: str) -> Iterator[ServerProcess]:
    """A console of its own, of any cluster."""
    arguments = ["console", "--bootstrap", bootstrap, "--listen", f"{LOOPBACK}:0", *more]
    server = ServerProcess(arguments, directory / "console.log")
    try:
        yield server.start()
    finally:
        server.end()


def free_port() -> int:
    """One that a node can come back to; its other ports come after it, then some for further listeners."""
    return free_ports(PORTS + 4)[0]


class Cluster:
    """Brokers (three, unless said otherwise), two controllers and two coordinators, each a process of its own, as `make cluster` starts them."""

    def __init__(self, server: ServerProcess, directory: Path) -> None:
        self.server = server
        self._directory = directory
        self._restarted: dict[str, subprocess.Popen[bytes]] = {}
        self._added: dict[str, tuple[str, list[str]]] = {}
        """Brokers that joined later: where each listens, and its command."""

    @property
    def bootstrap(self) -> str:
        return ",".join([self.server.bootstrap, *(address for address, _ in self._added.values())])

    def processes(self) -> dict[str, dict[str, object]]:
        """By name ("broker-1"): pid and the command that starts it again."""
        found: dict[str, dict[str, object]] = json.loads((self._directory / "pids.json").read_text())
        return {**found, **{name: {"command": command} for name, (_, command) in self._added.items()}}

    def logs_of(self, name: str) -> Path:
        """Where a broker has its partitions."""
        return self._directory / name / "logs"

    @property
    def store(self) -> Path:
        """Where the controllers keep the metadata log."""
        return self._directory / "controller-store"

    def log_of(self, name: str) -> str:
        """What a process said before it was restarted."""
        return (self._directory / name / "stderr.log").read_text()

    def add_broker(self, number: int, *log_dirs: Path) -> None:
        """Start one more, configured as the first is but for who it is and where it lives."""
        name, (port, http_port) = f"broker-{number}", free_ports(2)
        own = self._directory / name
        own.mkdir()
        told = dict(line.split("=", 1) for line in self._told("broker-1").splitlines())
        told |= {"node.id": str(number), "listeners": f"PLAINTEXT://{LOOPBACK}:{port}", "http.port": str(http_port)}
        told |= {"log.dirs": ",".join(map(str, log_dirs or [self.logs_of(name)]))}
        (own / "node.properties").write_text("".join(f"{key}={value}\n" for key, value in told.items()))
        command = self.processes()["broker-1"]["command"]
        assert isinstance(command, list)
        self._added[name] = (f"{LOOPBACK}:{port}", [each.replace("broker-1", name) for each in command])
        self.restart(name)

    def _told(self, name: str) -> str:
        return (self._directory / name / "node.properties").read_text()

    def metric(self, name: str, metric: str) -> float:
        """What a process says at /metrics, of all samples together."""
        told = self._told(name)
        found = re.search(r"^http\.port=(\d+)$", told, re.MULTILINE)
        assert found is not None, told
        with urllib.request.urlopen(f"http://127.0.0.1:{found.group(1)}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"{metric}(_total)?[ {{]", line))

    def kill(self, name: str) -> None:
        again = self._restarted.pop(name, None)
        if again is not None:
            again.kill()
            again.wait(STOP_TIMEOUT_S)
            return
        pid = int(str(self.processes()[name]["pid"]))
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: _expect_dead(pid), every_s=0.01)  # until then it holds its port

    def send(self, name: str, number: signal.Signals) -> None:
        again = self._restarted.get(name)
        os.kill(int(str(self.processes()[name]["pid"])) if again is None else again.pid, number)

    def stop(self, name: str) -> None:
        """As its host does: it may leave in order."""
        self.send(name, signal.SIGTERM)
        again = self._restarted.pop(name, None)
        if again is not None:
            again.wait(STOP_TIMEOUT_S)
            return
        pid = int(str(self.processes()[name]["pid"]))
        eventually(lambda: _expect_dead(pid), within_s=STOP_TIMEOUT_S, every_s=0.01)

    def restart(self, name: str) -> None:
        command = self.processes()[name]["command"]
        assert isinstance(command, list)
        with (self._directory / f"{name}.restarted.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        self._restarted[name] = process

    def end(self) -> None:
        for process in self._restarted.values():
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_TIMEOUT_S)
        self.server.end()


@contextlib.contextmanager
def cluster(
    directory: Path,
    *settings: str,
    brokers: int = 3,
    racks: str = "",
    program: str = MILLSTREAM,
    more: Sequence[str] = (),
) -> Iterator[Cluster]:
    data = directory / "cluster"
    port = free_ports(2 * (brokers + CONTROLLERS_AND_COORDINATORS))[0]
    arguments = ["cluster", "--port", str(port), "--data", str(data), "--brokers", str(brokers), *more]
    if racks:
        arguments += ["--racks", racks]
    for setting in settings:
        arguments += ["--set", setting]
    running = Cluster(ServerProcess(arguments, directory / "cluster.log", program=program), data)
    try:
        running.server.start()
        yield running
    finally:
        running.end()


def _expect_dead(pid: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"


def eventually(check: Callable[[], None], *, within_s: float = 30, every_s: float = 0.2) -> None:
    """Try a check that asserts until it holds, or fail with its last failure."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            check()
            return
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(every_s)
