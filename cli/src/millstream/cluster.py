"""Several processes on this machine, each with one role, watched by this one: `millstream cluster`.

Nobody is restarted: a process that dies stays dead until somebody runs the command that `pids.json` names. Ctrl-C ends all,
and so does the death of this process, whatever it died of.
"""

import contextlib
import ctypes
import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from millstream.first_logins import first_login_texts, first_logins_of, write_private
from millstream.ports import free_ports
from millstream.processes import LOOPBACK, PlannedProcess, plan_processes
from millstream.roles import Role
from millstream_cluster.configs.replication import replication_of
from millstream_runtime.process import configure_logging
from millstream_runtime.properties import Properties, PropertyError

logger = logging.getLogger(__name__)

START_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 40.0
WATCH_SECONDS = 0.5
PIDS_FILE = "pids.json"
PR_SET_PDEATHSIG = 1  # of Linux's prctl(2)
EXIT_FAILED = 1
EXIT_USAGE = 2


def run_cluster(options: Namespace) -> int:
    configure_logging(options.log_level)
    try:
        planned = _plan(options)
        first_logins_of(options.add_scram)  # what is wrong with them is said here
        for process in planned:
            process.directory.mkdir(parents=True, exist_ok=True)
            write_private(process.config, process.config_text())
            if process.first_logins is not None:
                write_private(process.first_logins, "\n".join(first_login_texts(options.add_scram)))
    except (PropertyError, OSError) as error:
        print(f"millstream: {error}", file=sys.stderr)
        return EXIT_USAGE
    return _Supervisor(planned, options.data, options.log_level).run()


def _plan(options: Namespace) -> list[PlannedProcess]:
    counts = {
        Role.BROKER: options.brokers,
        Role.CONTROLLER: options.controllers,
        Role.COORDINATOR: options.coordinators,
    }
    if min(counts.values()) < 1:
        raise PropertyError("a cluster has at least one broker, one controller and one coordinator")
    needed = 2 * sum(counts.values())
    if options.port == 0:
        ports = free_ports(LOOPBACK, needed)
    elif options.port + needed <= 65536:
        ports = list(range(options.port, options.port + needed))
    else:
        raise PropertyError(f"--port {options.port} leaves no room for {needed} ports")
    settings = {**replication_of(options.brokers), **Properties.read(None, options.set).as_dict()}
    racks = options.racks.split(",") if options.racks else ()
    has_logins = bool(options.add_scram)
    return plan_processes(counts, ports, options.data.absolute(), settings, racks=racks, has_first_logins=has_logins)


class _Supervisor:
    def __init__(self, planned: Sequence[PlannedProcess], data_dir: Path, log_level: str) -> None:
        self._planned = planned
        self._data_dir = data_dir
        self._log_level = log_level
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._stops = 0

    def run(self) -> int:
        with _signals(self._on_signal):
            try:
                for process in self._planned:
                    self._start(process)
                self._write_pids()
                if not self._wait_until_ready():
                    return EXIT_FAILED if not self._stops else 0
                brokers = [f"{each.host}:{each.port}" for each in self._planned if each.role is Role.BROKER]
                print(f"millstream ready on {','.join(brokers)} (data {self._data_dir})", flush=True)
                self._watch()
                return 0
            finally:
                self._stop_all()

    def _on_signal(self) -> None:
        self._stops += 1
        if self._stops > 1:
            for process in self._running.values():
                process.kill()

    def _start(self, process: PlannedProcess) -> None:
        command = [*process.command, "--log-level", self._log_level]
        with (process.directory / "stderr.log").open("a") as log:
            self._running[process.name] = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=_stop_with_parent(os.getpid())
            )

    def _write_pids(self) -> None:
        commands = {each.name: each.command for each in self._planned}
        content = {name: {"pid": running.pid, "command": commands[name]} for name, running in self._running.items()}
        fresh = self._data_dir / f"{PIDS_FILE}.new"
        fresh.write_text(json.dumps(content, indent=2) + "\n")
        fresh.replace(self._data_dir / PIDS_FILE)

    def _wait_until_ready(self) -> bool:
        """True once every process has printed its line."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        waiting = dict(self._running)
        with selectors.DefaultSelector() as selector:
            for name, process in waiting.items():
                assert process.stdout is not None
                selector.register(process.stdout, selectors.EVENT_READ, name)
            while waiting and not self._stops and time.monotonic() < deadline:
                for key, _ in selector.select(WATCH_SECONDS):
                    line = waiting.pop(key.data).stdout.readline()  # type: ignore[union-attr]
                    selector.unregister(key.fileobj)
                    if not line:
                        self._complain(key.data, "did not start")
                        return False
        if waiting and not self._stops:
            self._complain(next(iter(waiting)), "did not start in time")
        return not waiting

    def _complain(self, name: str, what: str) -> None:
        log = self._data_dir / name / "stderr.log"
        last = (log.read_text().strip().splitlines() or [""])[-1]
        print(f"millstream: {name} {what}: {last} (all of it in {log})", file=sys.stderr)

    def _watch(self) -> None:
        """Tell of deaths until somebody says stop."""
        dead: set[str] = set()
        while not self._stops:
            time.sleep(WATCH_SECONDS)
            for name, process in self._running.items():
                if name not in dead and process.poll() is not None:
                    dead.add(name)
                    logger.warning("process ended name=%s pid=%d exit=%d", name, process.pid, process.returncode)

    def _stop_all(self) -> None:
        """Those that need others to leave in order go first."""
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for role in (Role.COORDINATOR, Role.BROKER, Role.CONTROLLER):
            running = [
                self._running[each.name] for each in self._planned if each.role is role and each.name in self._running
            ]
            for process in running:
                process.terminate()
            for process in running:
                try:
                    process.wait(max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    logger.error("process killed pid=%d reason=did_not_stop", process.pid)
                    process.kill()
                    process.wait()


def _stop_with_parent(parent: int) -> Callable[[], None]:
    """For a child to call between fork and exec: ask the kernel for a SIGTERM when its parent dies."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def arrange() -> None:
        if prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
            raise OSError(ctypes.get_errno(), "cannot arrange to stop with the parent")
        if os.getppid() != parent:  # it died before we asked
            os._exit(EXIT_FAILED)

    return arrange


@contextlib.contextmanager
def _signals(act: Callable[[], None]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda *_: act()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
