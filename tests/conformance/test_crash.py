"""Kill -9 of any one process under load: what was acknowledged is there, once and in order, and the service goes on."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TIMEOUT_S = 60
PARTITIONS = 6


class Load:
    """An idempotent producer that numbers its records per partition and remembers which were acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 120_000,
                "socket.timeout.ms": 10_000,
                "reconnect.backoff.max.ms": 500,
                # With every node gone at once librdkafka would drop the brokers it knows, and may hang in doing so.
                "metadata.recovery.strategy": "none",
            }
        )
        self._topic = topic
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.sent = [0] * PARTITIONS
        self.acknowledged: list[set[int]] = [set() for _ in range(PARTITIONS)]
        self.failed: list[str] = []

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT_S)

    def finish(self) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT_S)
        assert self._producer.flush(TIMEOUT_S) == 0
        assert self.failed == []

    def total(self) -> int:
        return sum(len(numbers) for numbers in self.acknowledged)

    def _run(self) -> None:
        while not self._stop.is_set():
            for partition in range(PARTITIONS):
                number = self.sent[partition]
                self.sent[partition] += 1
                value = str(number).encode()
                self._producer.produce(self._topic, value, partition=partition, on_delivery=self._report(number))
            self._producer.poll(0)
            time.sleep(0.002)

    def _report(self, number: int):  # type: ignore[no-untyped-def]
        def report(error, message) -> None:  # type: ignore[no-untyped-def]
            if error is None:
                self.acknowledged[message.partition()].add(number)
            else:
                self.failed.append(str(error))

        return report


def read_all(bootstrap: str, topic: str) -> list[list[int]]:
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.partition.eof": False})
    partitions = [TopicPartition(topic, p, 0) for p in range(PARTITIONS)]
    ends = {p.partition: reader.get_watermark_offsets(p, timeout=TIMEOUT_S)[1] for p in partitions}
    reader.assign(partitions)
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    deadline = time.monotonic() + TIMEOUT_S
    while any(len(found[p]) < end for p, end in ends.items()) and time.monotonic() < deadline:
        for message in reader.consume(1000, 1.0):
            assert message.error() is None, message.error()
            found[message.partition()].append(int(message.value()))
    reader.close()
    return found


def check_nothing_lost(load: Load, bootstrap: str, topic: str) -> None:
    for partition, numbers in enumerate(read_all(bootstrap, topic)):
        assert numbers == sorted(set(numbers)), f"partition {partition}: out of order or twice"
        assert load.acknowledged[partition] <= set(numbers), f"partition {partition}: acknowledged and lost"
        assert all(number < load.sent[partition] for number in numbers), f"partition {partition}: never sent"


def create(bootstrap: str, topic: str, *, replicas: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})  # has to outlive its answers
    admin.create_topics([NewTopic(topic, PARTITIONS, replicas)])[topic].result(TIMEOUT_S)


def wait_for_progress(load: Load, records: int = 500) -> None:
    before = load.total()

    def progressed() -> None:
        assert load.failed == []
        assert load.total() >= before + records

    servers.eventually(progressed, within_s=TIMEOUT_S)


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    with servers.cluster(tmp_path_factory.mktemp("crash")) as running:
        yield running


@pytest.mark.parametrize("name", ["broker-1", "controller-1", "controller-2", "coordinator-1", "coordinator-2"])
def test_any_process_may_be_killed_under_load(own_cluster: servers.Cluster, topic: str, name: str) -> None:
    create(own_cluster.bootstrap, topic)
    with Load(own_cluster.bootstrap, topic) as load:
        wait_for_progress(load)
        own_cluster.kill(name)
        time.sleep(2)
        own_cluster.restart(name)
        wait_for_progress(load)
        load.finish()
    check_nothing_lost(load, own_cluster.bootstrap, topic)


def test_a_standby_takes_over_and_topics_can_be_made(own_cluster: servers.Cluster, topic: str) -> None:
    for name in ("controller-1", "controller-2"):
        own_cluster.kill(name)
        servers.eventually(lambda name=name: create(own_cluster.bootstrap, f"{topic}-{name}"), within_s=TIMEOUT_S)
        own_cluster.restart(name)
        time.sleep(3)


def test_groups_move_when_their_coordinator_dies(own_cluster: servers.Cluster, topic: str) -> None:
    create(own_cluster.bootstrap, topic)
    groups = [f"{topic}-{n}" for n in range(4)]
    readers = [
        Consumer(
            {
                "bootstrap.servers": own_cluster.bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
            }
        )
        for group in groups
    ]
    for reader in readers:
        reader.subscribe([topic])
    with Load(own_cluster.bootstrap, topic) as load:
        wait_for_progress(load)
        load.finish()
    counts = dict.fromkeys(groups, 0)
    _consume(readers, groups, counts, load.total())
    for reader in readers:
        reader.commit(asynchronous=False)
    own_cluster.kill("coordinator-1")
    with Load(own_cluster.bootstrap, topic) as more:
        wait_for_progress(more)
        more.finish()
    _consume(readers, groups, counts, load.total() + more.total())
    for reader in readers:
        reader.commit(asynchronous=False)
        reader.close()
    own_cluster.restart("coordinator-1")


def _consume(readers: list[Consumer], groups: list[str], counts: dict[str, int], total: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while any(count < total for count in counts.values()):
        assert time.monotonic() < deadline, counts
        for reader, group in zip(readers, groups, strict=True):
            for message in reader.consume(1000, 0.1):
                if message.error() is None:
                    counts[group] += 1
    assert set(counts.values()) == {total}


def test_a_node_killed_ten_times_under_load_loses_nothing(fresh: Path, topic: str) -> None:
    with servers.node(fresh) as first:
        port = int(first.bootstrap.rpartition(":")[2])
        create(first.bootstrap, topic)
        with Load(first.bootstrap, topic) as load:
            wait_for_progress(load)
            running = first
            for _ in range(10):
                running.kill()
                running = servers.ServerProcess(
                    ["node", "--port", str(port), "--data", str(fresh / "data")], fresh / "again.log"
                ).start()
                try:
                    wait_for_progress(load, 100)
                except BaseException:
                    running.end()
                    raise
            load.finish()
        check_nothing_lost(load, first.bootstrap, topic)
        assert running.stop() == 0
