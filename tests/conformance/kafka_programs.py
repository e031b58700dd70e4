"""Programs that come with Apache Kafka and run beside a cluster: each one Java process, that tests start, watch and end."""

import contextlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_tools import HERE, KAFKA_VERSION, LOGGING, fetched_jars

STOP_TIMEOUT_S = 60
_JVM = ["-Xmx384M", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.awt.headless=true"]


def programs_libs() -> Path:
    """Return the directory of the programs' jars, fetching them on first use (half a minute)."""
    return fetched_jars(HERE / "kafka" / "programs.xml", f"kafka-programs-{KAFKA_VERSION}")


def write_properties(path: Path, properties: Mapping[str, str]) -> str:
    """Write them as Java reads them, and return where they are."""
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return str(path)


class Program:
    """A main class that runs until it is told to stop, or is killed; it may be started again."""

    def __init__(self, main_class: str, arguments: Sequence[str], log: Path) -> None:
        self._main_class = main_class
        self._arguments = list(arguments)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Program":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        # MirrorMaker and Connect write INFO lines by the thousand: the log keeps what would explain a failure.
        command = ["java", *_JVM, LOGGING, "-cp", f"{programs_libs()}/*", self._main_class, *self._arguments]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def assert_running(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"{self._main_class} ended by itself:\n{self.log_tail()}"

    def log_tail(self) -> str:
        return self._log.read_text()[-6000:]

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """As an init system does: the program may finish what it is at."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.terminate()
            self._process.wait(STOP_TIMEOUT_S)
        self.kill()
