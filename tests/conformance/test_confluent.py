"""confluent-kafka (librdkafka): producing, groups, administration."""

import time
from collections import defaultdict
from collections.abc import Sequence

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic
from servers import eventually

TIMEOUT_S = 30


def create(bootstrap: str, topic: str, partitions: int = 3, config: dict[str, str] | None = None) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})  # has to outlive its answers
    admin.create_topics([NewTopic(topic, partitions, 1, config=config or {})])[topic].result(TIMEOUT_S)


def produce(bootstrap: str, topic: str, values: Sequence[str], **config: object) -> list[tuple[int, int]]:
    """Partition and offset of each value, in order."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **config})
    places: dict[int, tuple[int, int]] = {}

    def place(index: int):  # type: ignore[no-untyped-def]
        def delivered(error: KafkaError | None, message) -> None:  # type: ignore[no-untyped-def]
            assert error is None, error
            places[index] = (message.partition(), message.offset())

        return delivered

    for index, value in enumerate(values):
        producer.produce(topic, value.encode(), key=str(index).encode(), on_delivery=place(index))
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0
    return [places[index] for index in range(len(values))]


def consumer(bootstrap: str, group: str, **config: object) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 15_000,
            "heartbeat.interval.ms": 500,
            **config,
        }
    )


def drain(reader: Consumer, count: int) -> list[str]:
    values: list[str] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(values) < count and time.monotonic() < deadline:
        for message in reader.consume(500, 0.2):
            assert message.error() is None, message.error()
            values.append(message.value().decode())
    return values


def test_idempotent_produce_and_consume_in_order(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    values = [f"v{n}" for n in range(3000)]
    places = produce(bootstrap, topic, values)
    reader = consumer(bootstrap, f"g-{topic}")
    reader.subscribe([topic])
    seen = drain(reader, len(values))
    reader.close()
    assert sorted(seen) == sorted(values)
    by_partition = defaultdict(list)
    for partition, offset in places:
        by_partition[partition].append(offset)
    assert len(by_partition) == 3
    for offsets in by_partition.values():
        assert offsets == list(range(len(offsets)))


def test_headers_timestamps_and_tombstones(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=1)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, None, key=b"k", headers={"a": b"1", "b": None}, timestamp=1_700_000_000_123)
    assert producer.flush(TIMEOUT_S) == 0
    reader = consumer(bootstrap, f"g-{topic}")
    reader.assign([TopicPartition(topic, 0, 0)])
    message = reader.poll(TIMEOUT_S)
    reader.close()
    assert message is not None
    assert (message.key(), message.value(), message.timestamp()[1]) == (b"k", None, 1_700_000_000_123)
    assert message.headers() == [("a", b"1"), ("b", None)]


def test_three_members_split_the_partitions_and_survive_the_death_of_one(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=6)
    group = f"g-{topic}"
    readers = [consumer(bootstrap, group) for _ in range(3)]
    for reader in readers:
        reader.subscribe([topic])

    def balanced(members: Sequence[Consumer], each: int) -> None:
        for reader in members:
            reader.poll(0.1)
        owned = [{p.partition for p in reader.assignment()} for reader in members]
        assert sorted(len(partitions) for partitions in owned) == [each] * len(members)
        assert set().union(*owned) == set(range(6))

    eventually(lambda: balanced(readers, 2), within_s=40)
    produce(bootstrap, topic, [f"a{n}" for n in range(300)])
    seen: list[str] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(seen) < 300 and time.monotonic() < deadline:
        for reader in readers:
            seen += [m.value().decode() for m in reader.consume(100, 0.1)]
    assert len(seen) == 300
    for reader in readers:
        reader.commit(asynchronous=False)
    readers[0].close()
    eventually(lambda: balanced(readers[1:], 3), within_s=40)
    produce(bootstrap, topic, [f"b{n}" for n in range(60)])
    later: list[str] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(later) < 60 and time.monotonic() < deadline:
        for reader in readers[1:]:
            later += [m.value().decode() for m in reader.consume(100, 0.1)]
    for reader in readers[1:]:
        reader.close()
    assert sorted(later) == sorted(f"b{n}" for n in range(60)), (
        "nothing twice, nothing lost, from the committed offsets on"
    )


def test_clients_go_on_over_many_metadata_refreshes(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=2)
    often = {"topic.metadata.refresh.interval.ms": 200, "metadata.max.age.ms": 400}
    reader = consumer(bootstrap, f"g-{topic}", **often)
    reader.subscribe([topic])
    seen: list[str] = []
    for burst in range(10):
        produce(bootstrap, topic, [f"{burst}-{n}" for n in range(20)], **often)
        seen += drain(reader, 20)
        reader.commit(asynchronous=False)
        time.sleep(0.5)
    reader.close()
    assert len(seen) == 200


def test_topics_configs_and_partitions_by_the_admin_client(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    create(bootstrap, topic, partitions=2, config={"retention.ms": "3600000"})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    described = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert described["retention.ms"].value == "3600000"
    assert described["cleanup.policy"].value == "delete"
    change = ConfigResource(
        ConfigResource.Type.TOPIC,
        topic,
        incremental_configs=[ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)],
    )
    admin.incremental_alter_configs([change])[change].result(TIMEOUT_S)

    def changed() -> None:
        now = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
        assert now["retention.ms"].value == "7200000"

    eventually(changed)
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(TIMEOUT_S)
    eventually(lambda: _assert_partitions(admin, topic, 5))
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)
    eventually(lambda: _assert_gone(admin, topic))


def _assert_partitions(admin: AdminClient, topic: str, count: int) -> None:
    assert len(admin.list_topics(timeout=TIMEOUT_S).topics[topic].partitions) == count


def _assert_gone(admin: AdminClient, topic: str) -> None:
    assert topic not in admin.list_topics(timeout=TIMEOUT_S).topics


@pytest.mark.parametrize(
    ("new_topic", "code"),
    [
        (NewTopic("bad name!", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("zero", 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic("wide", 1, 100), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("odd", 1, 1, config={"no.such.config": "1"}), KafkaError.INVALID_CONFIG),
        (NewTopic("wrong", 1, 1, config={"retention.ms": "soon"}), KafkaError.INVALID_CONFIG),
    ],
)
def test_a_topic_that_cannot_be_gets_kafkas_error(bootstrap: str, new_topic: NewTopic, code: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([new_topic])
    with pytest.raises(KafkaException) as raised:
        made[new_topic.topic].result(TIMEOUT_S)
    assert raised.value.args[0].code() == code


def test_a_topic_cannot_be_made_twice(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    with pytest.raises(KafkaException) as raised:
        create(bootstrap, topic)
    assert raised.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
