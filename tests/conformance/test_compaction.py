"""Compacted topics, as clients see them, and as Apache Kafka's own tool reads their segments."""

import os
import re
import time
import uuid
from pathlib import Path

import pytest
import servers
from commits import commit
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from kafka_tools import KafkaUnavailable, kafka_libs, run_tool

TIMEOUT_S = 30
SET = AlterConfigOpType.SET
EAGER = ("log.cleaner.backoff.ms=200",)


def create(bootstrap: str, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    settings = {"cleanup.policy": "compact", **{name.replace("_", "."): value for name, value in config.items()}}
    admin.create_topics([NewTopic(topic, 1, 1, config=settings)])[topic].result(TIMEOUT_S)


def read_all(bootstrap: str, topic: str, **config: str) -> dict[int, tuple[bytes, bytes | None]]:
    """Every record that is left, by its offset."""
    group = uuid.uuid4().hex
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.partition.eof": True, **config})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = {}
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "no end of the partition"
        if message.error():
            break
        found[message.offset()] = (message.key(), message.value())
    consumer.close()
    return found


def size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.log"))


@pytest.mark.parametrize("codec", ["none", "zstd", "lz4"])
def test_only_the_latest_value_of_each_key_is_left(fresh: Path, topic: str, codec: str) -> None:
    with servers.node(fresh, *EAGER) as node:
        create(node.bootstrap, topic, segment_ms="100", min_cleanable_dirty_ratio="0.01")
        config = {"compression.type": codec, "enable.idempotence": True, "linger.ms": 5}
        producer = Producer({"bootstrap.servers": node.bootstrap, "batch.num.messages": 50, **config})
        for i in range(5000):
            key = b"key %d" % (i % 100)
            producer.produce(topic, key=key, value=None if i % 100 == 7 else os.urandom(20) + b" %d" % i)
            if i % 50 == 0:
                producer.flush(TIMEOUT_S)
        producer.flush(TIMEOUT_S)
        time.sleep(0.2)
        producer.produce(topic, key=b"filler", value=b"")  # the segment that takes the appends is not compacted
        producer.flush(TIMEOUT_S)

        def compacted() -> None:
            left = {offset: pair for offset, pair in read_all(node.bootstrap, topic).items() if pair[0] != b"filler"}
            assert sorted(left) == list(range(4900, 5000))
            assert all(pair[0] == b"key %d" % (o % 100) for o, pair in left.items())
            assert left[4907][1] is None, "a tombstone stays for a day, however often the log is cleaned"
            assert all((pair[1] or b"").endswith(b" %d" % o) for o, pair in left.items() if o != 4907)

        servers.eventually(compacted)
        before = read_all(node.bootstrap, topic)
        node.kill()
        node.start()
        after = read_all(node.bootstrap, topic)
        assert after.keys() <= before.keys(), "a restart brings nothing back"
        servers.eventually(compacted)
        producer = Producer({"bootstrap.servers": node.bootstrap, **config})
        offsets: list[int] = []
        producer.produce(topic, key=b"new", value=b"", on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(TIMEOUT_S) == 0
        assert offsets == [5001]
        node.stop()
    check_with_kafka(fresh / "data", topic)


def test_a_tombstone_goes_with_a_later_cleaning_when_its_time_is_over(fresh: Path, topic: str) -> None:
    with servers.node(fresh, *EAGER) as node:
        create(node.bootstrap, topic, segment_ms="100", min_cleanable_dirty_ratio="0.01", delete_retention_ms="0")
        producer = Producer({"bootstrap.servers": node.bootstrap})
        producer.produce(topic, key=b"kept", value=b"value")
        producer.produce(topic, key=b"gone", value=b"value")
        producer.produce(topic, key=b"gone", value=None)

        def only_what_has_a_value_is_left() -> None:
            producer.produce(topic, key=b"filler", value=b"")  # a new segment, so that there is more to clean
            producer.flush(TIMEOUT_S)
            keys = {key for key, _ in read_all(node.bootstrap, topic).values()}
            assert keys == {b"kept", b"filler"}

        servers.eventually(only_what_has_a_value_is_left)


def test_the_cleaner_does_not_sleep_on_when_it_is_told_to_sleep_less(fresh: Path, topic: str) -> None:
    with servers.node(fresh, "log.cleaner.backoff.ms=3600000") as node:
        create(node.bootstrap, topic, segment_ms="100", min_cleanable_dirty_ratio="0.01")
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        resource = ConfigResource(ConfigResource.Type.BROKER, "0")
        resource.add_incremental_config(ConfigEntry("log.cleaner.backoff.ms", "200", incremental_operation=SET))
        admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
        producer = Producer({"bootstrap.servers": node.bootstrap})

        def only_the_latest_is_left() -> None:
            producer.produce(topic, key=b"key", value=b"")
            producer.flush(TIMEOUT_S)
            assert 0 not in read_all(node.bootstrap, topic)

        servers.eventually(only_the_latest_is_left)


def check_with_kafka(data: Path, topic: str) -> None:
    """Apache Kafka's tool walks through every segment and its indexes, and finds nothing to complain about."""
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    (directory,) = data.glob(f"**/{topic}-0")
    files = ",".join(
        str(path) for path in sorted(directory.iterdir()) if path.suffix in (".log", ".index", ".timeindex")
    )
    done = run_tool("kafka-dump-log", ["--deep-iteration", "--files", files])
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert not re.search(r"mismatch|corrupt|invalid|Found timestamp|Exception|could not", output, re.IGNORECASE), output
    assert len(re.findall(r"^baseOffset: ", done.stdout, re.MULTILINE)) > 0


def test_the_groups_own_topic_shrinks_and_remembers(fresh: Path, topic: str) -> None:
    settings = ("offsets.topic.num.partitions=1", "offsets.topic.segment.bytes=1048576")
    with servers.node(fresh, *EAGER, *settings) as node:
        create(node.bootstrap, topic, cleanup_policy="delete")
        consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "g", "enable.auto.commit": False})
        note = "x" * 3500
        commit(consumer, [TopicPartition(topic, 0, 0)])
        for i in range(1500):
            consumer.commit(offsets=[TopicPartition(topic, 0, i, metadata=note)], asynchronous=False)
        (directory,) = fresh.glob("data/**/__consumer_offsets-0")

        def shrunk() -> None:
            assert size_of(directory) < 1_400_000

        servers.eventually(shrunk)
        consumer.close()
        for again in (node.kill, node.stop):
            again()
            node.start()
            consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "g"})
            (committed,) = consumer.committed([TopicPartition(topic, 0)], TIMEOUT_S)
            assert committed.offset == 1499
            commit(consumer, [TopicPartition(topic, 0, 1499)])
            consumer.close()
        node.stop()
    check_with_kafka(fresh / "data", "__consumer_offsets")


def test_the_state_of_compaction_is_kafkas(fresh: Path, topic: str) -> None:
    """Settings are listed as Kafka lists them; a topic becomes compacted, or stops to be, while it is in use."""
    with servers.node(fresh, *EAGER) as node:
        create(node.bootstrap, topic, cleanup_policy="delete", segment_ms="100", min_cleanable_dirty_ratio="0")
        producer = Producer({"bootstrap.servers": node.bootstrap})
        for i in range(1000):
            producer.produce(topic, key=b"%d" % (i % 10), value=bytes(50))
            if i % 100 == 0:
                producer.flush(TIMEOUT_S)
                time.sleep(0.12)
        producer.flush(TIMEOUT_S)
        assert len(read_all(node.bootstrap, topic)) == 1000
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        resource.add_incremental_config(ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=SET))
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)

        def compacted() -> None:
            assert len(read_all(node.bootstrap, topic)) < 500

        servers.eventually(compacted)
        checkpoint = next(fresh.glob("data/**/cleaner-offset-checkpoint")).read_text().splitlines()
        assert checkpoint[:2] == ["0", "1"]
        assert checkpoint[2].startswith(f"{topic} 0 ")
