"""What it takes to copy everything to a broker whose disk is empty, and what other clients notice of it."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_cluster import BROKERS
from servers import KafkaOfThree, MillstreamCluster
from topics import create
from usage import usage_of

CATCH_UP_CASE = "catch up: an empty broker of three"
BYTES = 10e9
PARTITIONS = 8
VALUE_BYTES = 100 << 10
OLD, LIVE = "old", "live"
LIVE_PER_SECOND = 200
ALONE_S = 10
LOOK_S = 0.2
SETTLE_S = 2
PATIENCE_S = 1800


def measure_catch_up(directory: Path, scale: float, rounds: int, say: Callable[[str], None]) -> None:
    """Print each figure as it is known; one cluster after the other, since each of them fills the disk three times over."""
    for turn in range(rounds):
        for make in (MillstreamCluster, KafkaOfThree) if turn % 2 == 0 else (KafkaOfThree, MillstreamCluster):
            cluster = make(directory / f"{make.__name__}-{turn}")
            say(f"catch up: {cluster.name}, round {turn + 1} of {rounds}")
            try:
                cluster.start()
                _measure(cluster, BYTES * scale, say)
            finally:
                cluster.stop()
                cluster.remove()


def _measure(cluster: MillstreamCluster | KafkaOfThree, size: float, say: Callable[[str], None]) -> None:
    admin = _admin(cluster)
    config = {"min.insync.replicas": "2"}
    create(admin, [NewTopic(OLD, PARTITIONS, BROKERS, config=config), NewTopic(LIVE, 1, BROKERS, config=config)])
    _fill(cluster.bootstrap, size)
    with _Live(cluster.bootstrap) as live:
        time.sleep(ALONE_S)
        alone = live.taken_ms()
        brokers = cluster.broker_ids
        victim = next(broker for broker in brokers if broker != _leader(admin, LIVE))
        cluster.lose_disk(victim)
        _wait_for_replicas_in_sync(cluster, BROKERS - 1)  # or it would look whole before it began
        time.sleep(SETTLE_S)  # what waited for the broker to be given up is not what the copying costs
        live.taken_ms()
        before, started = usage_of(*cluster.pids), time.monotonic()
        cluster.restart(victim)
        _wait_for_replicas_in_sync(cluster, BROKERS)
        took, after = time.monotonic() - started, usage_of(*cluster.pids)
        beside = live.taken_ms()
    cpu_s = after.cpu_s - before.cpu_s
    print(
        f"{cluster.name}: {size / 1e9:.1f} GB copied in {took:.1f} s ({size / took / 1e6:.0f} MB/s), "
        f"{cpu_s / size * 1e9:.2f} CPU-s/GB of all servers, the start of the broker included; "
        f"{LIVE_PER_SECOND} produces a second with acks=all meanwhile: {_times(beside)}; before it: {_times(alone)}",
        flush=True,
    )


def _admin(cluster: MillstreamCluster | KafkaOfThree) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def _fill(bootstrap: str, size: float) -> None:
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "batch.size": 1_000_000,
            "queue.buffering.max.kbytes": 256 << 10,
            "log_level": 0,
        }
    )
    value = bytes(97 + i % 26 for i in range(VALUE_BYTES))
    for number in range(round(size / VALUE_BYTES)):
        while True:
            try:
                producer.produce(
                    OLD, value, partition=number % PARTITIONS, on_delivery=lambda e, _: failed.append(e) if e else None
                )
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(PATIENCE_S) or failed:
        raise RuntimeError(f"the topic was not filled: {failed[:1]}")


def _leader(admin: AdminClient, topic: str) -> int:
    return int(admin.list_topics(topic, timeout=10).topics[topic].partitions[0].leader)


def _wait_for_replicas_in_sync(cluster: MillstreamCluster | KafkaOfThree, count: int) -> None:
    """Until every partition of both topics has so many.

    A new client for each look: one that chose the broker that is down asks nobody else, and spins.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            admin = _admin(cluster)
            described = admin.describe_topics(TopicCollection([OLD, LIVE]), request_timeout=5)
            partitions = [each for future in described.values() for each in future.result(10).partitions]
        except KafkaException:
            partitions = []
        if partitions and all(len(each.isr) == count for each in partitions):
            return
        time.sleep(LOOK_S)
    raise RuntimeError("the broker did not catch up in time")


class _Live:
    """Somebody else's client, who produces a little all the time."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0})
        self._taken_ms: list[float] = []
        self._failed: list[KafkaError] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "_Live":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()
        if self._producer.flush(30) or self._failed:
            raise RuntimeError(f"the other client's records failed: {self._failed[:1]}")

    def taken_ms(self) -> list[float]:
        """What each record since the last look took until it was acknowledged."""
        taken, self._taken_ms = self._taken_ms, []
        return taken

    def _run(self) -> None:
        while not self._ends.is_set():
            sent = time.monotonic()

            def note(error: KafkaError | None, _: Message, sent: float = sent) -> None:
                if error is not None:
                    self._failed.append(error)
                self._taken_ms.append((time.monotonic() - sent) * 1000)

            self._producer.produce(LIVE, b"x" * 100, partition=0, on_delivery=note)
            while (left := sent + 1 / LIVE_PER_SECOND - time.monotonic()) > 0:
                self._producer.poll(left)


def _times(taken: list[float]) -> str:
    taken = sorted(taken)
    return f"p50 {median(taken):.1f} ms, p99 {taken[len(taken) * 99 // 100]:.1f} ms, at most {taken[-1]:.0f} ms"
