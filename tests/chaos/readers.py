"""Groups that read the orders and commit after each batch, and watchers that read everything as it becomes visible."""

import math
import time

from clients import COPIES, ORDERS, PARTITIONS, PAYMENTS, SESSION_MS, Surroundings, key_of
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from history import EVERYTHING, Commit, Read, Resumed, now

BATCH = 200
POLL_S = 0.3
CHURN_S = (8.0, 20.0)
"""How long a member stays until it leaves for a moment, so that the others get its partitions."""
AWAY_S = 1.0


class Member:
    """Of a group that reads each order at least once; commits are waited for."""

    def __init__(self, around: Surroundings, group: str, protocol: str, name: str) -> None:
        self._around = around
        self._group = group
        self._protocol = protocol
        self._name = name
        self._drawn = around.drawn(name)
        self._begun: dict[int, float] = {}
        """Since when the member has a partition whose first record it has not seen yet."""
        self._rebalanced = False

    def run(self) -> None:
        """After an error that librdkafka takes for the end, as another member."""
        lives = []  # kept: librdkafka does not always survive closing one, and nothing is left to be said
        while not self._around.stop.is_set():
            lives.append(Consumer(self._settings()))
            try:
                self._live(lives[-1])
            except KafkaException as error:
                self._around.trouble(self._name, error)
                self._around.stop.wait(AWAY_S)

    def _live(self, consumer: Consumer) -> None:
        leaves_at = self._subscribe(consumer)
        while not self._around.stop.is_set():
            self._read(consumer)
            if time.monotonic() > leaves_at:
                consumer.unsubscribe()
                self._around.stop.wait(AWAY_S)
                leaves_at = self._subscribe(consumer)

    def _settings(self) -> dict[str, object]:
        own: dict[str, object] = {"group.protocol": self._protocol}
        if self._protocol == "classic":
            own |= {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 1_000}
        common = self._around.settings(
            group_id=self._group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level=EVERYTHING,
            fetch_wait_max_ms=200,
        )
        return common | own

    def _subscribe(self, consumer: Consumer) -> float:
        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            self._rebalanced = True
            self._begun.update({each.partition: now() for each in partitions})

        def revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
            self._rebalanced = True

        consumer.subscribe([ORDERS], on_assign=assigned, on_revoke=revoked)
        return math.inf if self._around.steady else time.monotonic() + self._drawn.uniform(*CHURN_S)

    def _read(self, consumer: Consumer) -> None:
        by_partition: dict[int, list[Message]] = {}
        for message in consumer.consume(BATCH, POLL_S):
            if message.error() is not None:
                if message.error().fatal():
                    raise KafkaException(message.error())
                self._around.trouble(self._name, message.error())
            else:
                by_partition.setdefault(message.partition(), []).append(message)
        # In a batch with a rebalance in it some may have been read as a partition's owner of before.
        rebalanced, self._rebalanced = self._rebalanced, False
        for partition, messages in by_partition.items():
            offsets = [message.offset() for message in messages]
            keys = [key_of(message) for message in messages]
            read = Read(self._name, EVERYTHING, ORDERS, partition, offsets, keys, now())
            begun = None if rebalanced else self._begun.pop(partition, None)
            if begun is None:
                self._around.history.note(read)
            else:
                resumed = Resumed(self._group, self._name, ORDERS, partition, offsets[0], begun, now())
                self._around.history.note(resumed, read)
        if by_partition and not rebalanced:
            ends = {partition: messages[-1].offset() + 1 for partition, messages in by_partition.items()}
            self._commit(consumer, [TopicPartition(ORDERS, partition, offset) for partition, offset in ends.items()])

    def _commit(self, consumer: Consumer, ends: list[TopicPartition]) -> None:
        begun = now()
        try:
            answers = consumer.commit(offsets=ends, asynchronous=False) or []
            errors = {each.partition: each.error.name() for each in answers if each.error is not None}
        except KafkaException as error:
            name = self._around.trouble(self._name, error).name()
            errors = {each.partition: name for each in ends}
        at = now()
        self._around.history.note(
            *(
                Commit(
                    self._group,
                    self._name,
                    ORDERS,
                    each.partition,
                    each.offset,
                    begun,
                    at,
                    errors.get(each.partition, ""),
                )
                for each in ends
            )
        )


class Watcher:
    """Reads every topic from its start, as everybody may: what it was shown once has to stay."""

    def __init__(self, around: Surroundings, isolation: str) -> None:
        self._around = around
        self._isolation = isolation
        self._name = f"watcher-{isolation}"

    def run(self) -> None:
        consumer = Consumer(
            self._around.settings(
                group_id=self._name,
                enable_auto_commit=False,
                isolation_level=self._isolation,
                # Nothing is ever deleted here: an offset out of range is a log that went back.
                auto_offset_reset="error",
                fetch_wait_max_ms=200,
            )
        )
        topics = (ORDERS, PAYMENTS, COPIES)
        consumer.assign([TopicPartition(topic, number, 0) for topic in topics for number in range(PARTITIONS[topic])])
        while not self._around.stop.is_set():
            self._read(consumer)

    def _read(self, consumer: Consumer) -> None:
        found: dict[tuple[str, int], list[Message]] = {}
        for message in consumer.consume(BATCH, POLL_S):
            error = message.error()
            if error is None:
                found.setdefault((message.topic(), message.partition()), []).append(message)
            elif error.code() != KafkaError._PARTITION_EOF:
                place = f"{message.topic()}-{message.partition()} {message.offset()}"
                self._around.trouble(self._name, error, place)
        for (topic, partition), messages in found.items():
            offsets = [message.offset() for message in messages]
            keys = [key_of(message) for message in messages]
            self._around.history.note(Read(self._name, self._isolation, topic, partition, offsets, keys, now()))
