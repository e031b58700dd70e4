"""One node of the system under test: its process, that is killed, stopped, frozen and started again."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from disks import Disk, Folder

STOP_TIMEOUT_S = 60


class Node:
    """`ready_text` is in what a process says once it serves."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        ready_text: str,
        disk: Disk | Folder | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.name = name
        self.disk = disk
        self._command = list(command)
        self._log = log
        self._ready_text = ready_text.encode()
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._began_at = 0
        self._paused = False

    def start(self) -> None:
        self._began_at = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)

    @property
    def is_ready(self) -> bool:
        return not self.has_ended and not self._paused and self._ready_text in self._said()

    @property
    def is_up(self) -> bool:
        """As `is_ready`, of one that has no reason to end: raises if it did."""
        if self.has_ended:
            raise RuntimeError(f"{self.name} did not start: {self._said()[-1500:].decode(errors='replace')}")
        return self.is_ready

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def revive(self) -> str:
        """Start it if it has ended by itself; what it said last then, else nothing."""
        if self._process is None or self._process.poll() is None:
            return ""
        code, last = self._process.returncode, self._said()[-1500:].decode(errors="replace")
        self.start()
        return f"{self.name} ended by itself with {code}\n{last}"

    def _said(self) -> bytes:
        with self._log.open("rb") as log:
            log.seek(self._began_at)
            return log.read()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> bool:
        """Whether it ended by itself in time."""
        return self._end(signal.SIGTERM)

    def pause(self) -> None:
        if not self.has_ended:
            self._signal(signal.SIGSTOP)
            self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._signal(signal.SIGCONT)
            self._paused = False

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _end(self, number: int) -> bool:
        process, self._process = self._process, None
        if process is None:
            return True
        self._paused = False
        in_time = True
        if process.poll() is None:
            os.kill(process.pid, number)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            in_time = False
            process.kill()
            process.wait()
        return in_time

    def end(self) -> None:
        """Whatever state it is in, it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self.resume()
        self.kill()
