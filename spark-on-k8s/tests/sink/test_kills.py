"""By hand: drivers, executors, Python workers and the broker killed under load, on Millstream and on Apache Kafka."""

import os
import random
import signal
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pyspark
import pytest
from broker import Sent, Topics
from nodes import ROOT, LocalNode
from processes import descendants
from sinkside import MAX_ROWS, SPARKS_OWN, Driver, SinkQuery

from millstream_spark.sink.marks import Cluster, settle

KILLS_OF_EACH_KIND = int(os.environ.get("KILLS", "10"))
RIVALS = max(1, KILLS_OF_EACH_KIND // 3)
OWN_KILLS, OWN_ROWS, OWN_BATCHES = 3, 200_000, 8
# More than are written until all were killed: about two batches pass between two kills, and thirty beside a rival.
ROWS = 8 * MAX_ROWS * (4 * KILLS_OF_EACH_KIND + RIVALS)
LARGE_BATCH = ROWS // 20
SLOTS = 4
MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC
IN_A_BATCH_TIMEOUT_S = 600

# Executors of their own, tasks that are tried again, and speculation at its most eager.
SUBMIT = " ".join(
    [
        "--master local-cluster[2,1,1024] --driver-memory 512m --conf spark.executor.memory=512m",
        "--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false --conf spark.task.maxFailures=20",
        "--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1 --conf spark.sql.shuffle.partitions=4",
        "--conf spark.speculation=true --conf spark.speculation.interval=100ms --conf spark.speculation.multiplier=1.1",
        "--conf spark.speculation.quantile=0.3 --conf spark.speculation.minTaskRuntime=10ms",
        "--conf 'spark.driver.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1'",
        "--conf 'spark.executor.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1'",
    ]
)

pytestmark = pytest.mark.by_hand


class Server(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


@pytest.fixture(params=["millstream", "kafka"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, str]]:
    made: Server
    if request.param == "millstream":
        node = LocalNode(tmp_path)
        made, address = node, node.bootstrap_servers
    else:
        sys.path += [str(ROOT / "tests/conformance"), str(ROOT / "cli/src")]
        from kafka_broker import KafkaBroker

        kafka = KafkaBroker(tmp_path / "kafka")
        made, address = kafka, kafka.bootstrap
    made.start()
    try:
        yield made, address
    finally:
        made.stop()


class Drivers:
    """One driver after the other over a checkpoint, with one slot and with several by turns."""

    def __init__(self, query: SinkQuery) -> None:
        self._query = query
        self._started: list[Driver] = []
        self.running = self.start()

    def start(self) -> Driver:
        slots = (1, SLOTS)[len(self._started) % 2]
        self._started.append(Driver(replace(self._query, slots=slots), submit=SUBMIT))
        return self._started[-1]

    def wait_until_in_a_batch(self) -> Driver:
        deadline = time.monotonic() + IN_A_BATCH_TIMEOUT_S
        while not self.running.is_in_a_batch:
            assert time.monotonic() < deadline, self.running.tail
            if self.running.has_ended:
                self.running = self.start()
            time.sleep(0.01)
        return self.running

    def add_a_rival(self) -> None:
        """Start another one over the same checkpoint, and wait until one of the two has ended."""
        rival = self.start()
        deadline = time.monotonic() + IN_A_BATCH_TIMEOUT_S
        while not (rival.has_ended or self.running.has_ended):
            assert time.monotonic() < deadline, rival.tail
            time.sleep(0.1)
        if self.running.has_ended:
            self.running = rival

    def kill_all(self) -> None:
        for driver in self._started:
            driver.kill()


def kill_one(driver: Driver, words: str, chosen: random.Random) -> bool:
    """Kill one process of the driver's whose command has these words; say whether there was one."""
    found = [pid for pid, command in descendants(driver.pid).items() if words in command]
    if not found:
        return False
    try:
        os.kill(chosen.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def hit(kind: str, drivers: Drivers, server: Server, chosen: random.Random) -> bool:
    """Say whether there was something to kill."""
    match kind:
        case "driver":
            chosen.choice((Driver.kill, Driver.kill_alone))(drivers.running)
        case "executor":
            return kill_one(drivers.running, "CoarseGrainedExecutorBackend", chosen)
        case "worker":
            return kill_one(drivers.running, "pyspark.daemon", chosen)
        case "broker":
            server.kill()
            server.start()
        case "rival":
            drivers.add_a_rival()
    return True


def test_whatever_is_killed_nothing_is_lost_and_nothing_doubled(
    server: tuple[Server, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, bootstrap_servers = server
    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    chosen = random.Random(0)
    topics = Topics(bootstrap_servers)
    source, topic = f"orders-{uuid.uuid4().hex[:8]}", f"totals-{uuid.uuid4().hex[:8]}"
    topics.create(source, partitions=3)
    topics.create(topic, partitions=SLOTS)
    expected = fill(topics, source, ROWS)
    query = SinkQuery(bootstrap_servers, source, topic, str(tmp_path / "checkpoint"), SLOTS)

    left = Counter(dict.fromkeys(("driver", "executor", "worker", "broker"), KILLS_OF_EACH_KIND) | {"rival": RIVALS})
    done: Counter[str] = Counter()
    drivers = Drivers(query)
    try:
        while left:
            drivers.wait_until_in_a_batch()
            time.sleep(chosen.uniform(0, 1))
            kind = chosen.choice(sorted(left.elements()))
            if hit(kind, drivers, running, chosen):
                done[kind] += 1
                left -= Counter([kind])
            print(f"done {dict(done)}, last batch {max(query.batches('commits'))}", flush=True)
    finally:
        drivers.kill_all()
    batches = max(query.batches("commits")) + 1
    assert batches < ROWS // MAX_ROWS, "the query ended before all were killed"
    replace(query, max_rows=LARGE_BATCH).run()
    # What a killed task left open would hide what was committed behind it.
    settle(Cluster(bootstrap_servers, None, 60_000), [f"{query.group_id}.{slot}" for slot in range(SLOTS)])
    lost, doubled = compare(topics, topic, expected)
    print(f"rows {ROWS} in {batches} batches and a few large ones, {dict(done)}: lost {lost} doubled {doubled}")
    assert (lost, doubled) == (0, 0)


def test_sparks_own_sink_doubles_what_a_killed_driver_had_written(server: tuple[Server, str], tmp_path: Path) -> None:
    _, bootstrap_servers = server
    topics = Topics(bootstrap_servers)
    source, topic = f"orders-{uuid.uuid4().hex[:8]}", f"totals-{uuid.uuid4().hex[:8]}"
    topics.create(source, partitions=3)
    topics.create(topic, partitions=SLOTS)
    expected = fill(topics, source, OWN_ROWS)
    query = SinkQuery(
        bootstrap_servers, source, topic, str(tmp_path / "checkpoint"), SLOTS, max_rows=OWN_ROWS // OWN_BATCHES
    )
    for _ in range(OWN_KILLS):
        driver = Driver(query, sink=SPARKS_OWN)
        try:
            driver.wait_until_in_a_batch()
            before = topics.held(topic, SLOTS)
            deadline = time.monotonic() + IN_A_BATCH_TIMEOUT_S
            while topics.held(topic, SLOTS) == before:
                assert time.monotonic() < deadline, driver.tail
        finally:
            driver.kill()
    query.run_with_sparks_own_sink()
    lost, doubled = compare(topics, topic, expected)
    print(f"Spark's own sink, {OWN_ROWS} rows, {OWN_KILLS} drivers killed: lost {lost} doubled {doubled}")
    assert lost == 0
    assert doubled > 0


def fill(topics: Topics, name: str, count: int) -> Counter[bytes]:
    """Return the values that the query makes of the records."""
    for start in range(0, count, 50_000):
        rows = range(start, min(start + 50_000, count))
        topics.produce(name, [Sent(n % 3, None, b"v", MIDNIGHT_MS) for n in rows])
    return Counter(f"{n % 3}:{n // 3}:v".encode() for n in range(count))


def compare(topics: Topics, topic: str, expected: Counter[bytes]) -> tuple[int, int]:
    found = Counter(topics.values(topic, SLOTS))
    return (expected - found).total(), (found - expected).total()
