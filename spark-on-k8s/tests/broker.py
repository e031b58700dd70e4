"""What the tests do at the broker, with an ordinary Kafka client."""

import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec, TimestampSpec
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from millstream_spark.coordinator import wait_out


@dataclass(frozen=True, slots=True)
class Sent:
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Topics:
    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def create(self, name: str, *, partitions: int, config: Mapping[str, str] | None = None) -> None:
        # The records' timestamps are old: under the default retention a broker may delete them in mid-test.
        topic = NewTopic(name, partitions, 1, config={"retention.ms": "-1", **(config or {})})
        self._admin.create_topics([topic])[name].result(30)
        # The answer comes from the controller; a broker may learn of it a moment later.
        deadline = time.monotonic() + 20
        while not self._leaders_known(name, partitions) and time.monotonic() < deadline:
            time.sleep(0.05)

    def configure(self, name: str, setting: str, value: str) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource])[resource].result(30)
        # The answer comes from the controller; the broker that goes by it learns of it a moment later.
        deadline = time.monotonic() + 60
        asked = ConfigResource(ResourceType.TOPIC, name)
        while self._admin.describe_configs([asked])[asked].result(30)[setting].value != value:
            assert time.monotonic() < deadline, f"{setting} of {name} is not {value}"
            time.sleep(0.05)

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name])[name].result(30)
        deadline = time.monotonic() + 20
        while name in self._admin.list_topics(timeout=10).topics and time.monotonic() < deadline:
            time.sleep(0.05)

    def delete_before(self, name: str, offsets: Sequence[int]) -> None:
        """Delete each partition's records before an offset, as retention does."""
        places = [TopicPartition(name, partition, offset) for partition, offset in enumerate(offsets)]
        for answer in self._admin.delete_records(places).values():
            answer.result(30)

    def produce(self, name: str, records: Sequence[Sent], *, codec: str = "none") -> None:
        """Send records, each partition's in order; raise unless every one is acknowledged."""
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 20,
                "compression.type": codec,
            }
        )
        self._send(producer, name, records)

    def produce_in_transaction(self, name: str, records: Sequence[Sent], *, commit: bool) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap_servers, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(60)
        producer.begin_transaction()
        self._send(producer, name, records)
        if commit:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)

    def begin_transaction(self, name: str, records: Sequence[Sent]) -> Producer:
        """Send records in a transaction, and leave it open."""
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap_servers,
                "transactional.id": uuid.uuid4().hex,
                # As long as brokers allow: it is open for all of the test.
                "transaction.timeout.ms": 900_000,
            }
        )
        producer.init_transactions(60)
        producer.begin_transaction()
        self._send(producer, name, records)
        return producer

    def _send(self, producer: Producer, name: str, records: Sequence[Sent]) -> None:
        failed: list[KafkaError] = []

        def note(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failed.append(error)

        for record in records:
            producer.produce(
                name,
                partition=record.partition,
                key=record.key,
                value=record.value,
                timestamp=record.timestamp_ms,
                headers=list(record.headers),
                on_delivery=note,
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert failed == []

    def committed(self, group_id: str, name: str, partitions: int) -> list[int]:
        request = [ConsumerGroupTopicPartitions(group_id, [TopicPartition(name, p) for p in range(partitions)])]

        def ask() -> list[TopicPartition]:
            answer = self._admin.list_consumer_group_offsets(request)[group_id]
            found: list[TopicPartition] = answer.result(30).topic_partitions
            return found

        return [position.offset for position in wait_out(ask, timeout_s=60)]

    def commit(self, group_id: str, name: str, offsets: Sequence[int]) -> None:
        self._commit(group_id, [TopicPartition(name, partition, offset) for partition, offset in enumerate(offsets)])

    def mark(self, group_id: str, name: str) -> TopicPartition:
        """Return what the group has committed for the first partition, with its note."""
        request = [ConsumerGroupTopicPartitions(group_id, [TopicPartition(name, 0)])]
        position: TopicPartition
        (position,) = self._admin.list_consumer_group_offsets(request)[group_id].result(30).topic_partitions
        return position

    def commit_mark(self, group_id: str, mark: TopicPartition) -> None:
        self._commit(group_id, [mark])

    def _commit(self, group_id: str, positions: list[TopicPartition]) -> None:
        request = [ConsumerGroupTopicPartitions(group_id, positions)]
        self._admin.alter_consumer_group_offsets(request)[group_id].result(30)

    def delete_group(self, group_id: str) -> None:
        self._admin.delete_consumer_groups([group_id])[group_id].result(30)

    def held(self, name: str, partitions: int) -> int:
        """Return how many offsets the topic has, of whatever kind."""
        latest: OffsetSpec = TimestampSpec(-1)
        asked = {TopicPartition(name, partition): latest for partition in range(partitions)}
        return sum(answer.result(30).offset for answer in self._admin.list_offsets(asked).values())

    def values(self, name: str, partitions: int) -> list[bytes]:
        """Return the values of every committed record, once no transaction is open."""
        return [message.value() or b"" for message in self.messages(name, partitions)]

    def messages(self, name: str, partitions: int) -> list[Message]:
        """Return every committed record, once no transaction is open."""
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self._bootstrap_servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(name, partition, 0) for partition in range(partitions)])
        found: list[Message] = []
        at_end: set[int] = set()
        deadline = time.monotonic() + 120
        while len(at_end) < partitions:
            assert time.monotonic() < deadline, f"{len(found)} records, ends of {at_end}"
            message = consumer.poll(1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                at_end.add(message.partition() or 0)
        consumer.close()
        return found

    def join(self, group_id: str, name: str) -> Consumer:
        """Return a consumer that is a member of the group, so that nobody may alter its offsets from outside."""
        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap_servers, "group.id": group_id, "enable.auto.commit": False}
        )
        consumer.subscribe([name])
        deadline = time.monotonic() + 30
        while not consumer.assignment():
            assert time.monotonic() < deadline
            consumer.poll(0.2)
        return consumer

    def _leaders_known(self, name: str, partitions: int) -> bool:
        topic = self._admin.list_topics(name, timeout=10).topics[name]
        return len(topic.partitions) == partitions and all(p.leader >= 0 for p in topic.partitions.values())


def headers_of(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    """Return its headers as they were sent."""
    headers = message.headers() or []
    assert isinstance(headers, list)
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in headers)


def wait_until_it_answers(bootstrap_servers: str, process: subprocess.Popen[bytes], *, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    # Refused connections while it starts are what we are waiting out.
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2, "reconnect.backoff.max.ms": 200})
    while True:
        assert process.poll() is None, f"the node ended with status {process.returncode}"
        try:
            if admin.list_topics(timeout=1).brokers:
                return
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody answers at {bootstrap_servers}") from error
