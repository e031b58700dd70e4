"""Unmodified consumers that say their rack read from the replica there (KIP-392): the brokers' own counters tell who served."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import servers
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_tools import KafkaUnavailable, run_tool
from test_confluent import drain

TIMEOUT_S = 60
RACKS = {"broker-1": "a", "broker-2": "b", "broker-3": "c"}
RECORDS, SIZE = 300, 10_000
SELECTOR = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector"


@pytest.fixture(scope="module")
def racks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    with servers.cluster(tmp_path_factory.mktemp("racks"), SELECTOR, racks=",".join(RACKS.values())) as running:
        yield running


def filled(cluster: servers.Cluster, topic: str) -> str:
    """Records on all three brokers, and the name of the one that leads."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic(topic, 1, 3)])[topic].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(topic, str(number).encode().ljust(SIZE))
    assert producer.flush(TIMEOUT_S) == 0
    partition = admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions[0]
    assert sorted(partition.isrs) == [1, 2, 3]
    return f"broker-{partition.leader}"


def read_by_librdkafka(bootstrap: str, topic: str, rack: str) -> list[str]:
    config = {"bootstrap.servers": bootstrap, "group.id": f"g-{topic}", "client.rack": rack}
    reader = Consumer({**config, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    reader.assign([TopicPartition(topic, 0, 0)])
    try:
        return drain(reader, RECORDS)
    finally:
        reader.close()


def read_by_java(bootstrap: str, topic: str, rack: str) -> list[str]:
    options = ["--from-beginning", "--max-messages", str(RECORDS), "--timeout-ms", "40000"]
    config = ["--command-property", f"client.rack={rack}"]
    try:
        server = ["--bootstrap-server", bootstrap]
        done = run_tool("kafka-console-consumer", [*server, "--topic", topic, *options, *config], timeout_s=120)
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("read", [read_by_librdkafka, read_by_java])
def test_a_consumer_reads_from_the_replica_in_its_rack(
    racks: servers.Cluster, topic: str, read: Callable[[str, str, str], list[str]]
) -> None:
    leader = filled(racks, topic)
    one, other = (name for name in RACKS if name != leader)
    for served in one, other, leader:
        before = {name: racks.metric(name, "millstream_fetched_bytes") for name in RACKS}
        found = read(racks.bootstrap, topic, RACKS[served])
        assert [int(value) for value in found] == list(range(RECORDS))
        sent = {name: racks.metric(name, "millstream_fetched_bytes") - before[name] for name in RACKS}
        assert sent.pop(served) >= RECORDS * SIZE
        assert max(sent.values()) < RECORDS * SIZE / 10, sent


def test_when_that_replica_dies_its_readers_go_on_elsewhere(fresh: Path, topic: str) -> None:
    with servers.cluster(fresh, SELECTOR, racks=",".join(RACKS.values())) as cluster:
        leader = filled(cluster, topic)
        closest = next(name for name in RACKS if name != leader)
        config = {"bootstrap.servers": cluster.bootstrap, "group.id": "g", "client.rack": RACKS[closest]}
        reader = Consumer({**config, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        reader.assign([TopicPartition(topic, 0, 0)])
        assert len(drain(reader, RECORDS)) == RECORDS
        assert cluster.metric(closest, "millstream_fetched_bytes") >= RECORDS * SIZE
        cluster.kill(closest)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        producer.produce(topic, b"more")
        assert producer.flush(TIMEOUT_S) == 0
        found: list[str] = []

        def gets_it() -> None:
            message = reader.poll(1)
            if message is not None and message.error() is None:
                found.append(message.value().decode())
            assert found == ["more"]

        servers.eventually(gets_it, within_s=TIMEOUT_S)
        reader.close()
