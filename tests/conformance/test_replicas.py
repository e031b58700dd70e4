"""Three replicas of each partition, as Kafka's own tools show and move them; the same is asked of Apache Kafka's three brokers."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
import servers
from ask import ask
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_cluster import KafkaCluster
from kafka_tools import KafkaUnavailable, kafka_libs, run_tool, run_tools, tool_command
from verifiable_members import Member, VerifiableMember, check_all_read

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import alter_partition_reassignments as wanted

PARTITIONS = 3
RECORDS = 300
VERIFIED = 2_000
LARGE = 40_000
"""So that a partition has more than one fetch of a follower brings."""


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


def fill(three: Three, topic: str, *, size: int = 0) -> None:
    producer = Producer({"bootstrap.servers": three.bootstrap, "enable.idempotence": True})
    failed: list[KafkaError] = []
    for number in range(RECORDS):
        producer.produce(
            topic,
            (b"%d" % number).ljust(size),
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


def test_a_generated_plan_is_held_back_cancelled_and_carried_out(three: Three, topic: str, tmp_path: Path) -> None:
    admin = AdminClient({"bootstrap.servers": three.bootstrap})  # has to outlive what it asks
    admin.create_topics([NewTopic(topic, PARTITIONS, replica_assignment=[[1, 2]] * PARTITIONS)])[topic].result(30)
    servers.eventually(lambda: expect(len(in_sync(three, topic)) == PARTITIONS))
    fill(three, topic, size=LARGE)
    wanted_topics = tmp_path / "topics.json"
    wanted_topics.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    said = reassign(three, "--generate", "--topics-to-move-json-file", str(wanted_topics), "--broker-list", "2,3")
    current, proposed = (json.loads(line) for line in said.splitlines() if line.startswith("{"))
    assert {tuple(each["replicas"]) for each in current["partitions"]} == {(1, 2)}
    assert {tuple(sorted(each["replicas"])) for each in proposed["partitions"]} == {(2, 3)}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(proposed))
    server, file = ["--bootstrap-server", three.bootstrap], ["--reassignment-json-file", str(plan)]
    began, listed, held, cancelled, none, throttles, again = tools(
        ("kafka-reassign-partitions", [*server, "--execute", *file, "--throttle", "1000"]),
        ("kafka-reassign-partitions", [*server, "--list"]),
        ("kafka-configs", [*server, "--describe", "--entity-type", "brokers", "--entity-name", "3"]),
        ("kafka-reassign-partitions", [*server, "--cancel", *file]),
        ("kafka-reassign-partitions", [*server, "--list"]),
        ("kafka-configs", [*server, "--describe", "--entity-type", "brokers", "--entity-name", "3"]),
        ("kafka-reassign-partitions", [*server, "--execute", *file, "--throttle", "50000000"]),
    )
    assert "The inter-broker throttle limit was set to 1000 B/s" in began
    assert listed.count(f"{topic}-") == PARTITIONS
    assert "follower.replication.throttled.rate=1000" in held
    assert "Successfully cancelled partition reassignments" in cancelled
    assert topic not in none
    assert "throttled.rate" not in throttles
    assert "Successfully started partition reassignments" in again
    servers.eventually(
        lambda: expect("is still in progress" not in reassign(three, "--verify", *file)), within_s=60, every_s=1
    )
    assert (
        len(re.findall(r"Reassignment of partition \S+ is completed", reassign(three, "--verify", *file))) == PARTITIONS
    )
    assert all(sorted(replicas) == isr == [2, 3] for _, replicas, isr in in_sync(three, topic).values())
    assert read(three, topic) == list(range(RECORDS))


def tools(*commands: tuple[str, Sequence[str]]) -> list[str]:
    done = run_tools(commands)
    assert [each.returncode for each in done] == [0] * len(done), [each.stdout + each.stderr for each in done]
    return [each.stdout for each in done]


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


def test_verifiable_clients_lose_nothing_when_a_leader_dies(three: Three, topic: str, tmp_path: Path) -> None:
    make(three, topic, replicas=3)
    settings = tmp_path / "producer.properties"
    settings.write_text("retries=2147483647\n")  # by itself it takes every refusal for final
    options = ["--max-messages", str(VERIFIED), "--throughput", "300", "--command-config", str(settings)]
    server = ["--bootstrap-server", three.bootstrap]
    producer = Member("producer", tool_command("kafka-verifiable-producer", [*server, "--topic", topic, *options]))
    try:
        servers.eventually(lambda: expect(len(acknowledged(producer)) > VERIFIED / 4))
        three.kill(2)
        servers.eventually(lambda: expect(not producer.is_alive), within_s=60)
    finally:
        producer.kill()
        three.restart(2)
    names = {event["name"] for event in producer.events}
    assert "producer_send_error" not in names
    assert len(acknowledged(producer)) == VERIFIED, producer.complaints
    ends = {(topic, index): 0 for index in range(PARTITIONS)}
    for event in acknowledged(producer):
        ends[topic, event["partition"]] = max(ends[topic, event["partition"]], event["offset"] + 1)
    reader = VerifiableMember("reader", three.bootstrap, topic, f"g-{topic}")
    try:
        servers.eventually(lambda: check_all_read([reader], ends, once=True), within_s=60)
        reader.stop()
    finally:
        reader.process.kill()


def acknowledged(producer: Member) -> list[dict[str, Any]]:
    return [event for event in list(producer.events) if event["name"] == "producer_send_success"]


def test_a_broker_that_is_away_is_unregistered_and_may_come_back(three: Three, replicated: str) -> None:
    server = ["--bootstrap-server", three.bootstrap]
    three.kill(3)
    try:
        servers.eventually(lambda: expect(3 not in live(three)))
        before, unregistered, after, features = tools(
            ("kafka-cluster", ["list-endpoints", *server, "--include-fenced-brokers"]),
            ("kafka-cluster", ["unregister", *server, "--id", "3"]),
            ("kafka-cluster", ["list-endpoints", *server, "--include-fenced-brokers"]),
            ("kafka-features", [*server, "describe"]),
        )
        assert re.search(r"^3\s.*fenced", before, re.MULTILINE), before
        assert "Broker 3 is no longer registered" in unregistered
        assert not re.search(r"^3\s", after, re.MULTILINE), after
        assert re.search(r"metadata\.version\s.*FinalizedVersionLevel", features)
    finally:
        three.restart(3)
    servers.eventually(
        lambda: expect(all(isr == [1, 2, 3] for _, _, isr in in_sync(three, replicated).values())), within_s=60
    )
    assert read(three, replicated) == list(range(RECORDS))
