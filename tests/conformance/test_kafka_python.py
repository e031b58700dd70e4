"""kafka-python 3: the newest versions, topic ids included."""

import threading
import time
from collections.abc import Callable

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient

TIMEOUT_S = 60


def create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 1}}, wait_for_metadata=True)
    finally:
        admin.close()


def produce(bootstrap: str, topic: str, count: int) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5)
    try:
        sent = [producer.send(topic, value=f"v{n}".encode(), key=str(n).encode()) for n in range(count)]
        for future in sent:
            future.get(timeout=TIMEOUT_S)
    finally:
        producer.close()


def member(bootstrap: str, topic: str) -> KafkaConsumer:
    reader = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=f"g-{topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=15_000,
        # A consumer whose first look came before the topic looks again soon.
        metadata_max_age_ms=2000,
        heartbeat_interval_ms=500,
    )
    # Kafka-python 3.0.12 forgets an assignment that comes between two polls if it rejoined because it learnt of the
    # topic after it first joined: so it learns of it before.
    wait_for(lambda: reader.partitions_for_topic(topic))
    return reader


def test_produce_and_consume_in_a_group_with_commits(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 3)
    produce(bootstrap, topic, 1000)
    reader = member(bootstrap, topic)
    seen: list[bytes] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(seen) < 1000 and time.monotonic() < deadline:
        for records in reader.poll(timeout_ms=200).values():
            seen += [record.value for record in records]
    reader.commit()
    committed = sum(reader.committed(TopicPartition(topic, p)) or 0 for p in range(3))
    ends = reader.end_offsets([TopicPartition(topic, p) for p in range(3)])
    reader.close()
    assert sorted(seen) == sorted(f"v{n}".encode() for n in range(1000))
    assert committed == sum(ends.values()) == 1000


def test_two_members_share_and_one_takes_over(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 4)
    owned: dict[int, set[TopicPartition]] = {}
    stop = [threading.Event(), threading.Event()]

    def read(index: int) -> None:
        reader = member(bootstrap, topic)
        while not stop[index].is_set():
            reader.poll(timeout_ms=100)
            owned[index] = set(reader.assignment())
        reader.close()

    threads = [threading.Thread(target=read, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: [len(owned.get(index, ())) for index in range(2)] == [2, 2])
        stop[0].set()
        threads[0].join(TIMEOUT_S)
        wait_for(lambda: len(owned.get(1, ())) == 4)
    finally:
        for event in stop:
            event.set()
        for thread in threads:
            thread.join(TIMEOUT_S)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)


def test_groups_and_offsets_by_the_admin_client(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 1)
    produce(bootstrap, topic, 10)
    reader = member(bootstrap, topic)
    deadline = time.monotonic() + TIMEOUT_S
    while not reader.poll(timeout_ms=200):
        assert time.monotonic() < deadline
    reader.commit()
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        group = f"g-{topic}"
        offsets = admin.list_group_offsets(group)[group]
        assert offsets[TopicPartition(topic, 0)].offset == 10
        assert group in str(admin.list_groups())
        assert "Stable" in str(admin.describe_groups([group]))
    finally:
        admin.close()
        reader.close()
