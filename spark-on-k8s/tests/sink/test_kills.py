"""By hand: drivers, executors, Python workers and the broker killed under load, on Millstream and on Apache Kafka."""

import os
import random
import signal
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyspark
import pytest
from broker import Sent, Topics
from nodes import ROOT, LocalNode
from processes import descendants
from sinkside import MAX_ROWS, Driver, SinkQuery

KILLS_OF_EACH_KIND = int(os.environ.get("KILLS", "10"))
ROWS = 400_000
SLOTS = 4
MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC

# Executors of their own, tasks that are tried again, and speculation at its most eager.
SUBMIT = " ".join(
    [
        "--master local-cluster[2,1,1024] --driver-memory 512m --conf spark.executor.memory=512m",
        "--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false --conf spark.task.maxFailures=20",
        "--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1 --conf spark.sql.shuffle.partitions=4",
        "--conf spark.speculation=true --conf spark.speculation.interval=100ms --conf spark.speculation.multiplier=1.1",
        "--conf spark.speculation.quantile=0.3 --conf spark.speculation.minTaskRuntime=10ms",
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
        sys.path.insert(0, str(ROOT / "tests/conformance"))
        from kafka_broker import KafkaBroker

        kafka = KafkaBroker(tmp_path / "kafka")
        made, address = kafka, kafka.bootstrap
    made.start()
    try:
        yield made, address
    finally:
        made.stop()


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


@pytest.mark.parametrize("slots", [1, SLOTS])
def test_whatever_is_killed_nothing_is_lost_and_nothing_doubled(
    server: tuple[Server, str], tmp_path: Path, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, bootstrap_servers = server
    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    chosen = random.Random(slots)
    topics = Topics(bootstrap_servers)
    source, topic = f"orders-{uuid.uuid4().hex[:8]}", f"totals-{uuid.uuid4().hex[:8]}"
    topics.create(source, partitions=3)
    topics.create(topic, partitions=SLOTS)
    topics.produce(source, [Sent(n % 3, None, b"v", MIDNIGHT_MS) for n in range(ROWS)])
    query = SinkQuery(bootstrap_servers, source, topic, str(tmp_path / "checkpoint"), slots)

    killed: Counter[str] = Counter()
    kinds = [kind for kind in ("driver", "executor", "worker", "broker") for _ in range(KILLS_OF_EACH_KIND)]
    chosen.shuffle(kinds)
    driver = Driver(query, submit=SUBMIT)
    try:
        for kind in kinds:
            deadline = time.monotonic() + 300
            while not driver.is_in_a_batch:
                if driver.has_ended:
                    driver = Driver(query, submit=SUBMIT)
                assert time.monotonic() < deadline, driver.tail
                time.sleep(0.01)
            time.sleep(chosen.uniform(0, 1))
            if kind == "driver":
                driver.kill()
                killed[kind] += 1
            elif kind == "broker":
                running.kill()
                running.start()
                killed[kind] += 1
            else:
                killed[kind] += kill_one(
                    driver, "CoarseGrainedExecutorBackend" if kind == "executor" else "pyspark.daemon", chosen
                )
            print(f"killed {dict(killed)}, last batch {max(query.batches('commits'))}", flush=True)
    finally:
        driver.kill()
    assert max(query.batches("commits")) < ROWS // MAX_ROWS, "the query ended before all were killed"
    query.run()
    found = Counter(topics.values(topic, SLOTS))
    expected = Counter(f"{n % 3}:{n // 3}:v".encode() for n in range(ROWS))
    lost, doubled = (expected - found).total(), (found - expected).total()
    print(f"rows {ROWS} killed {dict(killed)} lost {lost} doubled {doubled}")
    assert (lost, doubled) == (0, 0)
