"""A cluster whose processes are exchanged for another release's one by one, and the clients that must not notice."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import exactly_once
import servers
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

STOP_TIMEOUT_S = 40
HANGS_AFTER_S = 15
FLUSH_S = 60
COPIES = 30
"""Records that are copied at a time."""


class MixedCluster:
    """Begun by one release's `millstream cluster`; whoever is exchanged keeps its configuration, its ports and its data."""

    def __init__(self, cluster: servers.Cluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self._running: dict[str, subprocess.Popen[str]] = {}

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap

    def stop(self, name: str) -> None:
        """As its host would: it may leave in order."""
        process = self._running.pop(name, None)
        if process is not None:
            process.terminate()
            process.wait(STOP_TIMEOUT_S)
            assert process.stdout is not None
            process.stdout.close()
            return
        pid = int(str(self._cluster.processes()[name]["pid"]))
        os.kill(pid, signal.SIGTERM)
        servers.eventually(lambda: _has_ended(pid), within_s=STOP_TIMEOUT_S)

    def start(self, name: str, program: Path) -> None:
        """Start it as this release, and return when it says that it is ready."""
        process = self._spawn(name, program)
        self._running[name] = process
        watchdog = threading.Timer(servers.START_TIMEOUT_S, process.kill)
        watchdog.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        watchdog.cancel()
        assert line, f"{name} did not start with {program}:\n{self.log_of(name)}"

    def exchange(self, name: str, program: Path) -> None:
        self.stop(name)
        self.start(name, program)

    def fails_to_start(self, name: str, program: Path) -> str:
        """Start it as this release and wait until it gives up; what it said."""
        process = self._spawn(name, program)
        try:
            assert process.wait(servers.START_TIMEOUT_S) != 0
        finally:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
        return self.log_of(name)

    def log_of(self, name: str) -> str:
        """What it has said since it was exchanged last."""
        return self._log(name).read_text()

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _spawn(self, name: str, program: Path) -> subprocess.Popen[str]:
        command = self._cluster.processes()[name]["command"]
        assert isinstance(command, list)
        with self._log(name).open("w") as log:
            return subprocess.Popen(
                [str(program / "python"), *command[1:]], stdout=subprocess.PIPE, stderr=log, text=True
            )

    def end(self) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_TIMEOUT_S)
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _has_ended(pid: int) -> None:
    """Gone, or dead and not yet looked after by who started it."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state == "Z"


@contextlib.contextmanager
def mixed_cluster(directory: Path, program: Path) -> Iterator[MixedCluster]:
    with servers.cluster(directory, program=str(program / "millstream")) as cluster:
        mixed = MixedCluster(cluster, directory)
        try:
            yield mixed
        finally:
            mixed.end()


class Copier:
    """A process that copies a topic in transactions (exactly_once.py), begun anew when its client library hangs.

    librdkafka does not always come back from sending offsets to a coordinator that leaves meanwhile.
    """

    def __init__(self, bootstrap: str, source: str, target: str) -> None:
        self._command = [sys.executable, exactly_once.__file__, bootstrap, source, target]
        self._reader = Consumer({"bootstrap.servers": bootstrap, "group.id": f"g-{target}", **exactly_once.PATIENT})
        self._partitions = [TopicPartition(source, number) for number in range(exactly_once.PARTITIONS)]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Copier":
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._reader.close()

    def wait_for(self, copied: int, *, within_s: float = 120) -> None:
        """Return when the offsets of this many records are committed."""
        deadline = time.monotonic() + within_s
        before, since = -1, time.monotonic()
        while (now := self._copied()) < copied:
            assert time.monotonic() < deadline, f"{now} of {copied} records are copied"
            if now > before:
                before, since = now, time.monotonic()
            elif time.monotonic() - since > HANGS_AFTER_S:
                self._end()
                self._begin()
                since = time.monotonic()
            time.sleep(0.1)

    def _copied(self) -> int:
        try:
            found = self._reader.committed(self._partitions, exactly_once.TIMEOUT_S)
        except KafkaException:
            return -1  # its coordinator is being exchanged
        return sum(max(0, each.offset) for each in found)

    def _begin(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def _end(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()


class Feed:
    """Numbered records for who copies them in transactions."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0})
        self._topic = topic
        self.sent = 0

    def more(self, copier: Copier) -> None:
        """Send some and wait until they are copied."""
        for _ in range(COPIES):
            self._producer.produce(self._topic, b"%d" % self.sent, partition=self.sent % exactly_once.PARTITIONS)
            self.sent += 1
        assert self._producer.flush(FLUSH_S) == 0
        copier.wait_for(self.sent)


class GroupReader:
    """A member of a group that commits what it read, and minds when it is given again what it had committed."""

    def __init__(self, bootstrap: str, topic: str, *, protocol: str) -> None:
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{topic}-{protocol}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 500,
            "metadata.recovery.strategy": "none",
        }
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._committed: dict[int, int] = {}
        self.values: set[bytes] = set()
        self.given_again: list[tuple[int, int]] = []

    def __enter__(self) -> "GroupReader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(STOP_TIMEOUT_S)

    def has_read(self, count: int) -> None:
        assert len(self.values) == count

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe([self._topic])
        while not self._stop.is_set():
            messages = [each for each in consumer.consume(500, 0.2) if each.error() is None]
            for message in messages:
                partition, offset = message.partition(), message.offset()
                if offset < self._committed.get(partition, 0):
                    self.given_again.append((partition, offset))
                self.values.add(message.value())
            if messages:
                self._commit(consumer)
        consumer.close()

    def _commit(self, consumer: Consumer) -> None:
        try:
            done = consumer.commit(asynchronous=False)
        except KafkaException:
            time.sleep(0.1)  # its coordinator is being exchanged: the next commit covers these too
            return
        for each in done or []:
            assert isinstance(each, TopicPartition)
            if each.error is None and each.offset >= 0:
                self._committed[each.partition] = each.offset
