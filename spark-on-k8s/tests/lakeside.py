"""One archive: a topic, its lake and its checkpoint, run in this process or as one that can be killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millstream_spark.archive.job import run_archive
from millstream_spark.audit.job import run_audit


@dataclass(frozen=True, slots=True)
class Archive:
    bootstrap_servers: str
    topic: str
    lake: Path
    checkpoint: Path

    @property
    def group_id(self) -> str:
        return f"archive-{self.topic}"

    def arguments(self, *more: str) -> list[str]:
        return [
            f"--bootstrap-servers={self.bootstrap_servers}",
            f"--topic={self.topic}",
            f"--output={self.lake}",
            f"--checkpoint={self.checkpoint}",
            *more,
        ]

    def run(self, *more: str) -> None:
        """Run to the end in this process: what is available now."""
        assert run_archive(self.arguments(*more)) == 0

    def audit(self, *more: str) -> None:
        """Compare the lake with the topic."""
        servers, topic = f"--bootstrap-servers={self.bootstrap_servers}", f"--topic={self.topic}"
        assert run_audit([servers, topic, f"--lake={self.lake}", *more]) == 0

    def run_and_kill(self, when: Callable[[], bool], *more: str) -> None:
        """Run as a process of its own, and kill it and its JVM as `when` says so."""
        command = [sys.executable, "-m", "millstream_spark.main", "archive", *self.arguments(*more)]
        log = self.checkpoint.with_name("killed-job.log")
        with log.open("wb") as stderr:
            job = subprocess.Popen(command, start_new_session=True, stderr=stderr)
        try:
            deadline = time.monotonic() + 240  # a busy machine takes a minute to start a JVM and its first batch
            while not when():
                assert job.poll() is None, f"the job ended with status {job.returncode} too early: {_tail(log)}"
                assert time.monotonic() < deadline, f"the job never came to where it was to be killed: {_tail(log)}"
                time.sleep(0.01)
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()

    def batches(self, log: str) -> set[int]:
        """Return the batches in one of the checkpoint's logs: `offsets` (planned) or `commits` (done)."""
        directory = self.checkpoint / log
        return (
            {int(path.name) for path in directory.iterdir() if path.name.isdecimal()} if directory.is_dir() else set()
        )


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-4_000:]
