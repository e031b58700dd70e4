"""A process of its own: signals, exit codes, one line per failure, and what it says over HTTP."""

import contextlib
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

PROGRAM = """
import asyncio, sys
from millstream_runtime.process import configure_logging, run_services
from millstream_runtime.service import Health, ServiceFailed

class Toy:
    def __init__(self, name, behaviour):
        self.name, self.behaviour = name, behaviour
        self.ready, self.listeners = asyncio.Event(), {}

    def health(self):
        return Health(healthy=True, ready=self.behaviour != "fenced", detail=self.behaviour)

    async def run(self):
        if self.behaviour == "refuses":
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.refuse())
        if self.behaviour == "breaks":
            raise KeyError("a bug\\nwith a line of its own")
        self.ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            print(self.name, "stops", flush=True)
            while self.behaviour == "hangs":
                with open("/dev/null"):
                    try:
                        await asyncio.sleep(60)
                    except asyncio.CancelledError:
                        pass

    async def refuse(self):
        raise ServiceFailed("this directory is of another cluster")

configure_logging()
behaviours, port = sys.argv[1].split(","), int(sys.argv[2])
sys.exit(run_services(
    lambda world: [Toy(f"toy-{number}", behaviour) for number, behaviour in enumerate(behaviours)],
    http_address=("127.0.0.1", port) if port >= 0 else None,
    on_ready=lambda: print("ready", flush=True),
    shutdown_timeout_ms=500,
))
"""


@contextlib.contextmanager
def process(behaviours: str, port: int = -1) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), behaviours, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_services_last_one_first(number: signal.Signals) -> None:
    with process("works,works") as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(number)
        out, _ = running.communicate(timeout=60)
        assert out.splitlines() == ["toy-1 stops", "toy-0 stops"]
        assert running.returncode == 0


def test_a_service_that_cannot_start_is_one_line_and_exit_code_1() -> None:
    with process("works,refuses") as running:
        out, err = running.communicate(timeout=60)
        assert running.returncode == 1
        assert out == "toy-0 stops\n"
        assert len(err.splitlines()) == 1
        assert err.endswith("ERROR toy-1 failed: this directory is of another cluster\n")


def test_a_bug_is_a_traceback_and_exit_code_1() -> None:
    with process("breaks") as running:
        _, err = running.communicate(timeout=60)
        assert running.returncode == 1
        assert "Traceback" in err


def test_a_shutdown_that_hangs_is_cut_short_and_the_same_signal_again_ends_it_at_once() -> None:
    with process("hangs") as running:
        assert running.stdout is not None
        running.stdout.readline()
        started = time.monotonic()
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=60)
        assert 0.4 < time.monotonic() - started < 5
        assert running.returncode == 1
        assert "shutdown timed out services=toy-0" in err
    with process("hangs") as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.stdout.readline() == "toy-0 stops\n"
        running.send_signal(signal.SIGTERM)  # as from a supervisor that heard the same Ctrl-C
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        assert running.returncode == 128 + signal.SIGINT


def test_health_readiness_and_metrics_are_served() -> None:
    with process("works,fenced", 0) as running:
        assert running.stderr is not None
        ready, line = running.stderr.readline(), running.stderr.readline()
        assert " records=" in ready
        assert "http ready" in line
        base = f"http://{line.strip().rpartition('=')[2]}"
        assert read(f"{base}/healthz") == (200, "toy-0 ok works\ntoy-1 ok fenced\n")
        assert read(f"{base}/readyz") == (503, "toy-0 ok works\ntoy-1 not ok fenced\n")
        status, text = read(f"{base}/metrics")
        assert status == 200
        assert "millstream_request_seconds" in text
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
        assert running.returncode == 0


def read(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
