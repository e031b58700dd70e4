"""At most, at least and exactly once, and offsets kept by the application: what each loses and repeats when it, and the nodes, are killed."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import delivery_worker
import pytest
import servers
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from delivery_worker import BATCH, PARTITIONS
from exactly_once import results

RECORDS = 600
VICTIMS = ("worker", "worker", "broker", "worker", "coordinator")
PATIENCE_S = 120
SEED = int(os.environ.get("SEED", "1"))


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    with servers.cluster(tmp_path_factory.mktemp("delivery")) as running:
        yield running


class Watched:
    """The worker, started again whenever it ends before it has done everything."""

    def __init__(self, mode: str, cluster: servers.Cluster, source: str, directory: Path) -> None:
        self._command = [sys.executable, delivery_worker.__file__, mode, cluster.bootstrap, source, str(directory)]
        self._cluster = cluster
        self._progress = [directory / "done", directory / "progress"]
        self._log = directory / "worker.log"
        self.deaths = -1
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.deaths += 1
        with self._log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log)

    def wait(self, until: Callable[[int, bool], bool]) -> None:
        """Until that is true of the progress made and of whether the worker has come to its end."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            code = self._process.poll()
            if until(self.progress, code == 0):
                return
            assert time.monotonic() < deadline, (
                f"{self.progress} done, {self.deaths} deaths: {self._log.read_text()[-2000:]}"
            )
            if code is not None:
                assert code != 0, "it came to its end too early"
                self._process = self._start()
            time.sleep(0.02)

    @property
    def progress(self) -> int:
        return sum(path.read_bytes().count(b"\n") for path in self._progress if path.exists())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def strike(self, victim: str, drawn: random.Random) -> None:
        if victim == "worker":
            self.kill()
            return
        name = f"{victim}-{drawn.randint(1, 3 if victim == 'broker' else 2)}"
        self._cluster.kill(name)
        self._cluster.restart(name)


def run(mode: str, cluster: servers.Cluster, source: str, directory: Path) -> tuple[Counter[bytes], int]:
    """Have the records worked on by one that dies and starts again; those records, and how often it died."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topics = [NewTopic(name, PARTITIONS, 1) for name in (source, f"{source}-results")]
    for future in admin.create_topics(topics).values():
        future.result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
    values = [f"{number}".encode() for number in range(RECORDS)]
    for number, value in enumerate(values):
        producer.produce(source, value, partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    drawn = random.Random(f"{SEED} {mode}")
    worker = Watched(mode, cluster, source, directory)
    try:
        for victim in VICTIMS:
            goal = worker.progress + drawn.randrange(1, RECORDS // len(VICTIMS))
            worker.wait(lambda progress, ended, goal=goal: progress >= goal or ended)
            worker.strike(victim, drawn)
        worker.wait(lambda progress, ended: ended)
    finally:
        worker.kill()
    return Counter(values), worker.deaths


def judge(mode: str, expected: Counter[bytes], found: Counter[bytes], deaths: int) -> tuple[int, int]:
    lost, repeated = (expected - found).total(), (found - expected).total()
    print(f"{mode}: seed={SEED} records={expected.total()} deaths={deaths} lost={lost} repeated={repeated}")
    return lost, repeated


def lines(path: Path) -> Counter[bytes]:
    return Counter(path.read_bytes().split())


def test_at_most_once(own_cluster: servers.Cluster, topic: str, fresh: Path) -> None:
    expected, deaths = run("at-most-once", own_cluster, topic, fresh)
    lost, repeated = judge("at most once", expected, lines(fresh / "done"), deaths)
    assert repeated == 0
    assert lost <= deaths * BATCH


def test_at_least_once(own_cluster: servers.Cluster, topic: str, fresh: Path) -> None:
    expected, deaths = run("at-least-once", own_cluster, topic, fresh)
    lost, repeated = judge("at least once", expected, lines(fresh / "done"), deaths)
    assert lost == 0
    assert repeated <= deaths * BATCH


def test_exactly_once_in_transactions(own_cluster: servers.Cluster, topic: str, fresh: Path) -> None:
    expected, deaths = run("exactly-once", own_cluster, topic, fresh)
    found = results(own_cluster.bootstrap, f"{topic}-results", RECORDS)
    assert judge("exactly once", expected, found, deaths) == (0, 0)


def test_exactly_once_with_offsets_outside(own_cluster: servers.Cluster, topic: str, fresh: Path) -> None:
    expected, deaths = run("offsets-outside", own_cluster, topic, fresh)
    rows = sqlite3.connect(fresh / "results.db").execute("SELECT value FROM results").fetchall()
    found = Counter(value.encode() for (value,) in rows)
    assert judge("offsets outside", expected, found, deaths) == (0, 0)
