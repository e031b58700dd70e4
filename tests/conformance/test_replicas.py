"""Three replicas of each partition, as Kafka's own tools show and move them; the same is asked of Apache Kafka's three brokers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
import servers
from ask import ask
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_cluster import KafkaCluster
from kafka_tools import KafkaUnavailable, kafka_libs, run_tool

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import alter_partition_reassignments as wanted

PARTITIONS = 3
RECORDS = 300


class Three(Protocol):
    """Brokers 1, 2 and 3."""

    @property
    def bootstrap(self) -> str: ...
    def kill(self, number: int) -> None: ...
    def restart(self, number: int) -> None: ...


class Ours:
    def __init__(self, running: servers.Cluster) -> None:
        self._running = running

    @property
    def bootstrap(self) -> str:
        return self._running.bootstrap

    def kill(self, number: int) -> None:
        self._running.kill(f"broker-{number}")

    def restart(self, number: int) -> None:
        self._running.restart(f"broker-{number}")


class Theirs:
    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap

    def kill(self, number: int) -> None:
        self._cluster.brokers[number - 1].kill()

    def restart(self, number: int) -> None:
        self._cluster.brokers[number - 1].start()


@pytest.fixture(scope="module", params=["cluster", "kafka"])
def three(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Three]:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "cluster":
        with servers.cluster(directory) as running:
            yield Ours(running)
        return
    cluster = KafkaCluster(directory)
    cluster.start()
    yield Theirs(cluster)
    cluster.stop()


@pytest.fixture
def replicated(three: Three, topic: str) -> str:
    """A topic with a replica on each broker, two of which have to be in sync, and records in it."""
    make(three, topic, replicas=3)
    fill(three, topic)
    return topic


def make(three: Three, topic: str, *, replicas: int) -> None:
    new = NewTopic(topic, PARTITIONS, replicas, config={"min.insync.replicas": "2"})
    admin = AdminClient({"bootstrap.servers": three.bootstrap})  # has to outlive what it asks
    admin.create_topics([new])[topic].result(30)
    servers.eventually(lambda: expect(len(in_sync(three, topic)) == PARTITIONS))


def fill(three: Three, topic: str) -> None:
    producer = Producer({"bootstrap.servers": three.bootstrap, "enable.idempotence": True})
    failed: list[KafkaError] = []
    for number in range(RECORDS):
        producer.produce(
            topic,
            b"%d" % number,
            partition=number % PARTITIONS,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(60) == 0
    assert failed == []


def read(three: Three, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": three.bootstrap, "group.id": "readers", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    values: list[int] = []
    for _ in range(60):
        values += [int(each.value() or b"") for each in consumer.consume(RECORDS, 1.0) if each.error() is None]
        if len(values) >= RECORDS:
            break
    consumer.close()
    return sorted(values)


def expect(holds: bool, said: object = "") -> None:
    assert holds, said


def in_sync(three: Three, topic: str) -> dict[int, tuple[int, list[int], list[int]]]:
    """Leader, replicas and ISR by partition, as librdkafka is told."""
    found = AdminClient({"bootstrap.servers": three.bootstrap}).list_topics(topic, timeout=10).topics[topic]
    return {each.id: (each.leader, list(each.replicas), sorted(each.isrs)) for each in found.partitions.values()}


def described(three: Three, topic: str, *options: str) -> str:
    done = run_tool("kafka-topics", ["--bootstrap-server", three.bootstrap, "--describe", "--topic", topic, *options])
    assert done.returncode == 0, done.stderr
    return done.stdout


def reassign(three: Three, *options: str) -> str:
    done = run_tool("kafka-reassign-partitions", ["--bootstrap-server", three.bootstrap, *options])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def moves(topic: str, replicas: list[int], directory: Path) -> str:
    path = directory / "moves.json"
    partitions = [{"topic": topic, "partition": index, "replicas": replicas} for index in range(PARTITIONS)]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def test_a_broker_that_is_away_shows_until_it_has_caught_up(three: Three, replicated: str) -> None:
    assert described(three, replicated, "--under-replicated-partitions") == ""
    three.kill(2)
    try:
        servers.eventually(lambda: expect(all(isr == [1, 3] for _, _, isr in in_sync(three, replicated).values())))
        assert described(three, replicated, "--under-replicated-partitions").count("Partition: ") == PARTITIONS
        assert described(three, replicated, "--at-min-isr-partitions").count("Partition: ") == PARTITIONS
        assert described(three, replicated, "--under-min-isr-partitions") == ""
        assert described(three, replicated, "--unavailable-partitions") == ""
        fill(three, replicated)
    finally:
        three.restart(2)
    servers.eventually(
        lambda: expect(all(isr == [1, 2, 3] for _, _, isr in in_sync(three, replicated).values())), within_s=60
    )
    assert described(three, replicated, "--under-replicated-partitions") == ""


def test_leaders_go_back_to_who_is_preferred(three: Three, replicated: str) -> None:
    preferred = {index: replicas[0] for index, (_, replicas, _) in in_sync(three, replicated).items()}
    three.kill(1)
    try:
        servers.eventually(
            lambda: expect(all(leader in (2, 3) for leader, _, _ in in_sync(three, replicated).values()))
        )
    finally:
        three.restart(1)
    servers.eventually(
        lambda: expect(all(isr == [1, 2, 3] for _, _, isr in in_sync(three, replicated).values())), within_s=60
    )
    server = ["--bootstrap-server", three.bootstrap]
    done = run_tool(
        "kafka-leader-election", [*server, "--election-type", "preferred", "--all-topic-partitions"], timeout_s=90
    )
    assert done.returncode == 0, done.stdout + done.stderr
    servers.eventually(
        lambda: expect({index: leader for index, (leader, _, _) in in_sync(three, replicated).items()} == preferred)
    )
    assert read(three, replicated) == list(range(RECORDS))


def test_replicas_move_with_their_records(three: Three, topic: str, tmp_path: Path) -> None:
    make(three, topic, replicas=2)
    fill(three, topic)
    path = moves(topic, [3, 1], tmp_path)
    said = reassign(three, "--execute", "--reassignment-json-file", path, "--throttle", "50000000")
    assert "Successfully started partition reassignment" in said
    servers.eventually(
        lambda: expect("is still in progress" not in reassign(three, "--verify", "--reassignment-json-file", path)),
        within_s=60,
        every_s=1,
    )
    done = reassign(three, "--verify", "--reassignment-json-file", path)
    assert len(re.findall(r"Reassignment of partition \S+ is completed", done)) == PARTITIONS
    assert all(replicas == [3, 1] and isr == [1, 3] for _, replicas, isr in in_sync(three, topic).values())
    assert read(three, topic) == list(range(RECORDS))


def test_a_move_under_way_is_listed_and_can_be_cancelled(three: Three, topic: str, tmp_path: Path) -> None:
    make(three, topic, replicas=2)
    reached = moves(topic, [1, 2], tmp_path)
    reassign(three, "--execute", "--reassignment-json-file", reached)
    servers.eventually(lambda: expect(all(isr == [1, 2] for _, _, isr in in_sync(three, topic).values())), within_s=60)
    fill(three, topic)
    three.kill(3)  # so that nothing can be copied there
    try:
        servers.eventually(lambda: expect(3 not in live(three)))
        # Kafka's tool moves nothing to a broker that is away; the protocol does.
        partitions = [
            wanted.ReassignablePartition(partition_index=index, replicas=[1, 3]) for index in range(PARTITIONS)
        ]
        topics = [wanted.ReassignableTopic(name=topic, partitions=partitions)]
        controller = three.bootstrap.split(",")[0]
        (begun,) = ask(controller, wanted.AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=10_000))
        assert begun.error_code == ErrorCode.NONE
        assert {each.error_code for each in begun.responses[0].partitions} == {ErrorCode.NONE}
        assert reassign(three, "--list").count(f"{topic}-") == PARTITIONS
        target = moves(topic, [1, 3], tmp_path)
        said = reassign(three, "--cancel", "--preserve-throttles", "--reassignment-json-file", target)
        assert "Successfully cancelled partition reassignments" in said
        assert topic not in reassign(three, "--list")
    finally:
        three.restart(3)
    assert all(sorted(replicas) == isr == [1, 2] for _, replicas, isr in in_sync(three, topic).values())
    assert read(three, topic) == list(range(RECORDS))


def live(three: Three) -> set[int]:
    return set(AdminClient({"bootstrap.servers": three.bootstrap}).list_topics(timeout=10).brokers)


def test_each_brokers_disk_is_described(three: Three, replicated: str) -> None:
    done = run_tool("kafka-log-dirs", ["--bootstrap-server", three.bootstrap, "--describe", "--topic-list", replicated])
    told = json.loads(done.stdout.splitlines()[-1])
    sizes = {
        (broker["broker"], partition["partition"]): (
            partition["size"] > 0,
            partition["offsetLag"],
            partition["isFuture"],
        )
        for broker in told["brokers"]
        for directory in broker["logDirs"]
        for partition in directory["partitions"]
    }
    assert sizes == {
        (number, f"{replicated}-{index}"): (True, 0, False) for number in (1, 2, 3) for index in range(PARTITIONS)
    }
