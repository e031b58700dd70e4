"""A transactional producer that leaves a mark, an offset with a note, in the same transaction as its records.

There is one writer of a mark at a time: to open it fences whoever held it and settles what that one had begun.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from millstream_spark.coordinator import wait_out
from millstream_spark.errors import SinkRefused
from millstream_spark.login import read_login

ANSWER_TIMEOUT_S = 60
COMMIT_TRIES = 5
QUEUE_WAIT_S = 0.05
UNASSIGNED = -1  # the partition that leaves the choice to librdkafka

FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}


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


class MarkedWriter:
    """Invariant: the mark that was read when it opened stays true until this writer commits or is fenced."""

    def __init__(self, cluster: Cluster, *, transactional_id: str, group_id: str, topic: str, partition: int) -> None:
        self._transactional_id = transactional_id
        self._producer = Producer(
            {
                **cluster.client(),
                "transactional.id": transactional_id,
                "transaction.timeout.ms": cluster.transaction_timeout_ms,
                "linger.ms": 20,
                "compression.type": "lz4",
                "queue.buffering.max.kbytes": 64 << 10,
            }
        )
        self._producer.init_transactions(ANSWER_TIMEOUT_S)
        self._consumer = Consumer(
            {
                **cluster.client(),
                "group.id": group_id,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._place = (topic, partition)

    def read(self) -> tuple[int, str] | None:
        """Return the mark: an offset and its note."""
        position = wait_out(self._committed, timeout_s=ANSWER_TIMEOUT_S)
        return None if position.offset < 0 else (position.offset, position.metadata or "")

    def _committed(self) -> TopicPartition:
        (position,) = self._consumer.committed([TopicPartition(*self._place)], timeout=ANSWER_TIMEOUT_S)
        if position.error is not None:
            raise KafkaException(position.error)
        return position

    def begin(self, offset: int, note: str = "") -> None:
        """Open the transaction with the mark in it: the coordinator tells a fenced writer so before it takes a record."""
        self._producer.begin_transaction()
        mark = TopicPartition(*self._place, offset, metadata=note)
        group = self._consumer.consumer_group_metadata()
        try:
            self._producer.send_offsets_to_transaction([mark], group, ANSWER_TIMEOUT_S)
        except KafkaException as error:
            raise self._told(error) from error

    def write(
        self,
        topic: str,
        key: bytes | str | None,
        value: bytes | str | None,
        headers: Sequence[tuple[str, bytes | str | None]] | None,
        partition: int | None,
    ) -> None:
        place = UNASSIGNED if partition is None else partition
        while True:
            try:
                self._producer.produce(topic, value, key, place, headers=list(headers) if headers else None)
                return
            except BufferError:
                # The queue empties by deliveries, or by their timeout, which is the transaction's.
                self._producer.poll(QUEUE_WAIT_S)
            except KafkaException as error:
                raise self._told(error) from error

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
        return error
