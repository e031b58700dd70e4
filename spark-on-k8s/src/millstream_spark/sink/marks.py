"""A transactional producer that leaves a mark, an offset with a note, in the same transaction as its records.

There is one writer of a mark at a time: to open it fences whoever held it and settles what that one had begun.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Delivered

from millstream_spark.coordinator import give_up_on, wait_out
from millstream_spark.errors import RecordRefused, SinkRefused
from millstream_spark.login import read_login

ANSWER_TIMEOUT_S = 60
GIVEN_UP_S = 70
"""Later than the client would by itself."""
COMMIT_TRIES = 5
QUEUE_WAIT_S = 0.05
ANSWER_POLL_S = 1
MESSAGE_BYTES_MAX = 1_000_000_000

Message = dict[str, Any]
"""`key` and `value`; `partition`, `timestamp` and `headers` (of `key` and `value`) only if it has them."""

FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
NOT_TAKEN = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.INVALID_TIMESTAMP}


@dataclass(frozen=True, slots=True)
class Cluster:
    bootstrap_servers: str
    credentials: str | None
    """A directory with the files of a User's Secret: each process reads it by itself."""
    transaction_timeout_ms: int

    def client(self) -> dict[str, str | int | float | bool]:
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": "millstream-spark-sink",
            "log_level": 2,
            **read_login(self.credentials).librdkafka,
        }


def settle(cluster: Cluster, transactional_ids: Iterable[str]) -> None:
    """Fence the writers of these ids, and end what they left open: until then their marks would not be told."""
    for transactional_id in transactional_ids:
        _take_over(cluster, transactional_id)


class MarkedWriter:
    """Invariant: the mark that was read when it opened stays true until this writer commits or is fenced."""

    def __init__(self, cluster: Cluster, *, transactional_id: str, group_id: str, topic: str, partition: int) -> None:
        self._cluster = cluster
        self._transactional_id = transactional_id
        self._producer = _take_over(cluster, transactional_id)
        self._consumer = _of_group(cluster, group_id)
        self._place = (topic, partition)
        self._other_groups: dict[str, Consumer] = {}
        self._queued = 0
        self._not_taken = (-1, "")
        """The largest record that the topic does not take: all of its batch are told of alike."""

    def read(self) -> tuple[int, str] | None:
        """Return the mark: an offset and its note."""
        (position,) = self.read_of([TopicPartition(*self._place)])
        return None if position.offset < 0 else (position.offset, position.metadata or "")

    def read_of(self, places: list[TopicPartition]) -> list[TopicPartition]:
        """Return the marks of places; a negative offset is none."""

        def ask() -> list[TopicPartition]:
            found = self._consumer.committed(places, timeout=ANSWER_TIMEOUT_S)
            for position in found:
                if position.error is not None:
                    raise KafkaException(position.error)
            return found

        return wait_out(ask, timeout_s=ANSWER_TIMEOUT_S)

    def end(self) -> int:
        """Return where the mark's partition ends, up to the first transaction that is open."""
        _, end = self._consumer.get_watermark_offsets(TopicPartition(*self._place), timeout=ANSWER_TIMEOUT_S)
        return end

    def begin(self, offset: int, note: str = "") -> None:
        """Open the transaction with the mark in it: the coordinator tells a fenced writer so before it takes a record."""
        self.begin_with([TopicPartition(*self._place, offset, metadata=note)])

    def begin_with(self, marks: list[TopicPartition]) -> None:
        """Open the transaction with marks of other places."""
        self._producer.begin_transaction()
        self._send(marks)

    def mark(self, offset: int, note: str) -> None:
        """Move the mark on within the transaction."""
        self._send([TopicPartition(*self._place, offset, metadata=note)])

    def mark_in(self, group_id: str, marks: list[TopicPartition]) -> None:
        """Move marks of another group on within the transaction."""
        if group_id not in self._other_groups:
            self._other_groups[group_id] = _of_group(self._cluster, group_id)
        self._send(marks, self._other_groups[group_id])

    def _send(self, marks: list[TopicPartition], of_group: Consumer | None = None) -> None:
        group = (of_group or self._consumer).consumer_group_metadata()

        def send() -> None:
            self._producer.send_offsets_to_transaction(marks, group, ANSWER_TIMEOUT_S)

        try:
            # Where the group's coordinator comes back at the wrong moment, the client keeps no time (librdkafka issue 5456).
            give_up_on(send, timeout_s=GIVEN_UP_S)
        except KafkaException as error:
            raise self._told(error) from error

    def write(self, topic: str, messages: list[Message]) -> None:
        """Send the messages in their order. What was given before the last call is delivered first: the queue is bounded."""
        while len(self._producer) > self._queued:
            # Ends by deliveries, or by their timeout, which is the transaction's.
            self._producer.poll(QUEUE_WAIT_S)
        self._queued = len(messages)
        try:
            # The client's batches take neither.
            if any("headers" in message or "timestamp" in message for message in messages):
                self._write_each(topic, messages)
            elif self._producer.produce_batch(topic, messages) < len(messages):
                raise next(KafkaException(message["_error"]) for message in messages if "_error" in message)
        except KafkaException as error:
            raise self._told(error) from error

    def _write_each(self, topic: str, messages: list[Message]) -> None:
        for message in messages:
            headers = [(header["key"], header["value"]) for header in message.pop("headers", ())]
            self._producer.produce(topic, **message, headers=headers, on_delivery=self._note_failure)

    def _note_failure(self, error: KafkaError | None, message: Delivered) -> None:
        if error is not None and error.code() in NOT_TAKEN and len(message) > self._not_taken[0]:
            place = f"{message.topic()} partition {message.partition()}"
            self._not_taken = (
                len(message),
                f"{place} does not take a record of {len(message)} bytes: {error.str()}",
            )

    def commit(self) -> None:
        """Never aborts: the next to open settles what is left open, and reads what was decided."""
        for left in reversed(range(COMMIT_TRIES)):
            try:
                self._producer.commit_transaction(ANSWER_TIMEOUT_S)
                return
            except KafkaException as error:
                if left == 0 or not error.args[0].retriable():
                    raise self._told(error) from error

    def _told(self, error: KafkaException) -> Exception:
        if error.args[0].code() in FENCED:
            return SinkRefused(f"another writer of {self._transactional_id} has taken over")
        # Why records were not delivered is told beside it, maybe a moment later.
        self._producer.poll(ANSWER_POLL_S)
        if self._not_taken[1]:
            return RecordRefused(self._not_taken[1])
        return error


def _of_group(cluster: Cluster, group_id: str) -> Consumer:
    return Consumer(
        {
            **cluster.client(),
            "group.id": group_id,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )


def _take_over(cluster: Cluster, transactional_id: str) -> Producer:
    producer = Producer(
        {
            **cluster.client(),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": cluster.transaction_timeout_ms,
            "linger.ms": 20,
            "compression.type": "lz4",
            # A key goes where Kafka's own clients, and Spark's sink, send it.
            "partitioner": "murmur2_random",
            # What is queued is bounded by `write`.
            "queue.buffering.max.kbytes": 1 << 20,
            # As large as the topic takes, which only its brokers know.
            "message.max.bytes": MESSAGE_BYTES_MAX,
            "delivery.report.only.error": True,
        }
    )
    producer.init_transactions(ANSWER_TIMEOUT_S)
    return producer
