"""The host as the test process has it: started with the first question, gone with the last, whatever ends the tests."""

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from millstream.testing.frames import receive, send

END_TIMEOUT_S = 30
LOG_TAIL = 2000


class TestingError(Exception):
    """The cluster could not do what the test asked for; the message says why."""

    __test__ = False  # pytest would take it for a class of tests


class HostProcess:
    """`with HostProcess() as host`. Any thread may ask; one question at a time is answered."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="millstream-testing-"))
        self._asking = threading.Lock()
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._log = self._directory / "host.log"
        with theirs, self._log.open("wb") as log:
            command = [
                sys.executable,
                "-P",
                "-m",
                "millstream.testing.host",
                str(theirs.fileno()),
                str(self._directory),
            ]
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is the test process's to handle
            )

    def ask(self, name: str, *arguments: Any, **more: Any) -> Any:
        """Raise TestingError with what the host says."""
        with self._asking:
            try:
                send(self._socket, (name, arguments, more))
                answer = receive(self._socket)
            except OSError:
                answer = None
        if answer is None:
            raise TestingError(f"the process with the brokers has ended: {self.log()[-LOG_TAIL:]}")
        worked, value = answer
        if not worked:
            timed_out, text = value
            raise (TimeoutError if timed_out else TestingError)(text)
        return value

    def log(self) -> str:
        """What the brokers have logged: warnings and worse."""
        with contextlib.suppress(OSError):
            return self._log.read_text(errors="replace")
        return ""

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._socket.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> "HostProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
