"""MirrorMaker 2 from one node to three brokers: topics with their records, partitions and configs, and groups with their offsets."""

from collections.abc import Iterator
from pathlib import Path

import commits
import pytest
import servers
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, ResourceType
from growing import whole
from kafka_programs import Program, programs_libs, write_properties
from kafka_tools import KafkaUnavailable

PARTITIONS = 3
TIMEOUT_S = 180
TOPIC, MIRRORED, GROUP = "orders", "a.orders", "billing"
# Everything MirrorMaker creates on either side has three replicas unless told otherwise.
ONE_REPLICA = ["", "offset.storage.", "config.storage.", "status.storage."]
ONE_REPLICA += ["checkpoints.topic.", "heartbeats.topic."]


@pytest.fixture
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses of a node and of a cluster that do not know each other."""
    try:
        programs_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    with servers.node(tmp_path_factory.mktemp("a")) as a, servers.cluster(tmp_path_factory.mktemp("b")) as b:
        yield a.bootstrap, b.bootstrap


def mirror_maker(a: str, b: str, directory: Path) -> Program:
    settings = {
        "clusters": "a,b",
        "a.bootstrap.servers": a,
        "b.bootstrap.servers": b,
        "a->b.enabled": "true",
        "a->b.topics": TOPIC,
        "b.exactly.once.source.support": "enabled",
        "sync.group.offsets.enabled": "true",
        "offset.lag.max": "0",
        "session.timeout.ms": "6000",  # how long a killed one's place waits for the next one
    }
    for what in ("refresh.topics", "refresh.groups", "sync.topic.configs", "sync.group.offsets", "emit.checkpoints"):
        settings[f"{what}.interval.seconds"] = "1"
    settings |= {f"a.{what}replication.factor": "1" for what in ONE_REPLICA}
    settings["a->b.offset-syncs.topic.replication.factor"] = "1"  # it is kept at the source
    settings["a->b.replication.factor"] = "3"  # of mirrored topics; two, unless told otherwise
    configuration = write_properties(directory / "mirror.properties", settings)
    return Program("org.apache.kafka.connect.mirror.MirrorMaker", [configuration], directory / "mirror.log")


def write(bootstrap: str, partition: int, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in numbers:
        producer.produce(TOPIC, f"{number}".encode(), f"key {number}".encode(), partition, headers={"n": f"{number}"})
    assert producer.flush(TIMEOUT_S) == 0


def read(bootstrap: str, topic: str, partitions: int, *, commit: bool = False) -> list[list[tuple[object, ...]]]:
    """What a reader of committed records finds in each partition."""
    settings = {"isolation.level": "read_committed", "enable.partition.eof": True, "enable.auto.commit": False}
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, **settings})
    reader.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found: list[list[tuple[object, ...]]] = [[] for _ in range(partitions)]
    at_end: set[int | None] = set()
    while len(at_end) < partitions:
        message = reader.poll(TIMEOUT_S)
        assert message is not None, found
        if message.error() is None:
            found[message.partition() or 0].append(contents(message))
        else:
            at_end.add(message.partition())
    if commit:
        commits.commit(reader)
    reader.close()
    return found


def contents(message: Message) -> tuple[object, ...]:
    return message.key(), message.value(), message.timestamp(), message.headers()


def until_mirrored(program: Program, a: str, b: str, partitions: int) -> None:
    def check() -> None:
        program.assert_running()
        found = AdminClient({"bootstrap.servers": b}).list_topics(timeout=TIMEOUT_S).topics.get(MIRRORED)
        assert found is not None, program.log_tail()
        assert len(found.partitions) == partitions, program.log_tail()
        assert read(b, MIRRORED, partitions) == read(a, TOPIC, partitions), program.log_tail()

    servers.eventually(check, within_s=TIMEOUT_S, every_s=0.5)


def committed(bootstrap: str, topic: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)])
    found = asked[GROUP].result(TIMEOUT_S).topic_partitions
    return {each.partition: each.offset for each in found if each.topic == topic}


def test_topics_and_groups_are_mirrored_once_each(pair: tuple[str, str], fresh: Path) -> None:
    a, b = pair
    admin = AdminClient({"bootstrap.servers": a})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1, config={"retention.ms": "86400001"})])[TOPIC].result(TIMEOUT_S)
    for partition in range(PARTITIONS):
        write(a, partition, range(100 * (partition + 1)))
    read(a, TOPIC, PARTITIONS, commit=True)
    with mirror_maker(a, b, fresh) as program:
        until_mirrored(program, a, b, PARTITIONS)
        program.kill()
        write(a, 0, range(100, 150))
        program.start()
        admin.create_partitions([NewPartitions(TOPIC, PARTITIONS + 1)])[TOPIC].result(TIMEOUT_S)
        write(a, PARTITIONS, range(50))
        until_mirrored(program, a, b, PARTITIONS + 1)
        servers.eventually(lambda: offsets_are_translated(b), within_s=TIMEOUT_S)
    resource = ConfigResource(ResourceType.TOPIC, MIRRORED)
    target = AdminClient({"bootstrap.servers": b})
    whole(b, 3)
    configs = target.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert configs["retention.ms"].value == "86400001"


def offsets_are_translated(bootstrap: str) -> None:
    """The group stands right behind the copies of what it had read."""
    offsets = committed(bootstrap, MIRRORED)
    for partition in range(PARTITIONS):
        # A marker of the transaction that brought the last record may be in between.
        assert offsets.get(partition) in {100 * (partition + 1), 100 * (partition + 1) + 1}, offsets
