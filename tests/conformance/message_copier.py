"""Kafka's own copier of messages in transactions, started again whenever it ends before everything is copied."""

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from kafka_tools import tool_command

COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
PAUSE_S = 0.5


class Copier:
    """`copied` counts what it says it has committed, over all its lives."""

    def __init__(
        self,
        bootstrap: str,
        source: str,
        target: str,
        log: Path,
        *,
        transaction_size: int = 10,
        with_newest_clients: bool = False,
    ) -> None:
        arguments = ["--broker-list", bootstrap, "--input-topic", source, "--input-partition", "-1"]
        arguments += ["--output-topic", target, "--transactional-id", f"x-{target}", "--consumer-group", f"g-{target}"]
        arguments += ["--transaction-size", str(transaction_size), "--transaction-timeout", "30000"]
        arguments += ["--group-mode", "--use-group-metadata", "--enable-random-aborts"]
        self._command = tool_command(
            COPIER, arguments, java_options=("-Xmx128M",), with_newest_clients=with_newest_clients
        )
        self._log = log
        self._stop = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._run)
        self.copied = 0
        self.lives = 0
        self.is_done = False

    @contextlib.contextmanager
    def at_work(self) -> Iterator["Copier"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            self.kill()
            self._thread.join()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def wait_for(self, copied: int, *, within_s: float = 120) -> None:
        deadline = time.monotonic() + within_s
        while self.copied < copied and not self.is_done:
            assert time.monotonic() < deadline, (
                f"copied {self.copied} in {self.lives} lives: {self._log.read_text()[-3000:]}"
            )
            time.sleep(0.02)

    def wait_done(self, *, within_s: float = 120) -> None:
        deadline = time.monotonic() + within_s
        while not self.is_done:
            assert time.monotonic() < deadline, (
                f"copied {self.copied} in {self.lives} lives: {self._log.read_text()[-3000:]}"
            )
            time.sleep(0.1)

    def _run(self) -> None:
        while not self._stop.is_set() and not self.is_done:
            with (
                self._log.open("a") as log,
                subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
            ):
                self._process = process
                self.lives += 1
                assert process.stdout is not None
                before = self.copied
                for line in process.stdout:
                    log.write(line)
                    with contextlib.suppress(json.JSONDecodeError):
                        self.copied = before + int(json.loads(line).get("totalProcessed", 0))
                self.is_done = process.wait() == 0
            self._stop.wait(0 if self.is_done else PAUSE_S)
