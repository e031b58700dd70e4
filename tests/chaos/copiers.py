"""Consume, transform, produce, exactly once: orders are copied in transactions that commit the offsets too."""

import time
from itertools import count

from clients import COPIES, ORDERS, PARTITIONS, SESSION_MS, TIMEOUT_S, Surroundings, key_of, persistently
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from history import ABORTED, COMMITTED, COMMITTED_ONLY, UNKNOWN, Ended, Sent, now
from transactions import PATIENCE_S, TRANSACTION_TIMEOUT_MS

GROUP = "copiers"
BATCH = 100
POLL_S = 0.3
FINISH_S = 30
"""How long it may take to copy what is left when no more orders come."""


class Copier:
    """One of a group; its transactional id is its own. A copy's key says which offset it was read at."""

    def __init__(self, around: Surroundings, name: str) -> None:
        self._around = around
        self._name = name
        self._numbers = count()
        self._rebalanced = False
        self._discarded: list[Producer] = []  # librdkafka does not always come back from destroying one in trouble

    def run(self) -> None:
        consumer = self._new_consumer()
        consumer.subscribe([ORDERS], on_assign=self._note_rebalance, on_revoke=self._note_rebalance)
        for life in count(self._around.first_life):
            name = f"{self._name}.{life}"
            producer = self._new_producer()
            try:
                persistently(self._around, name, lambda p=producer: p.init_transactions(TIMEOUT_S), PATIENCE_S)
                # What the life before left undecided is decided now.
                self._rewind(consumer, name)
                self._copy(producer, consumer, name)
            except KafkaException as error:
                self._around.trouble(name, error)
                time.sleep(1)
            else:
                return

    def _note_rebalance(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rebalanced = True

    def _new_consumer(self) -> Consumer:
        return Consumer(
            self._around.settings(
                group_id=GROUP,
                group_protocol="classic",
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=1_000,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                isolation_level=COMMITTED_ONLY,
                fetch_wait_max_ms=200,
            )
        )

    def _new_producer(self) -> Producer:
        producer = Producer(
            self._around.settings(
                transactional_id=f"copies-{self._name}",
                transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
                linger_ms=0,
            )
        )
        self._discarded.append(producer)
        return producer

    def _copy(self, producer: Producer, consumer: Consumer, name: str) -> None:
        """Until the run is over and nothing is left to copy, or for so long."""
        over_at = None
        while True:
            messages = []
            for message in consumer.consume(BATCH, POLL_S):
                if message.error() is None:
                    messages.append(message)
                else:
                    self._around.trouble(name, message.error())
            if self._rebalanced:
                # Some of these may have been read as a partition's owner of before.
                self._rebalanced = False
                self._rewind(consumer, name)
            elif messages:
                self._one(producer, consumer, name, messages)
            elif self._around.stop.is_set():
                over_at = over_at or time.monotonic() + FINISH_S
                if self._nothing_is_left(consumer) or time.monotonic() > over_at:
                    return

    def _nothing_is_left(self, consumer: Consumer) -> bool:
        """Whether the whole group has come to the ends of all orders."""
        partitions = [TopicPartition(ORDERS, number) for number in range(PARTITIONS[ORDERS])]
        try:
            done = [max(0, each.offset) for each in consumer.committed(partitions, TIMEOUT_S)]
            return done == [consumer.get_watermark_offsets(each, TIMEOUT_S)[1] for each in partitions]
        except KafkaException:
            return False

    def _one(self, producer: Producer, consumer: Consumer, name: str, messages: list[Message]) -> None:
        number, begun = next(self._numbers), now()
        outcome, keys = UNKNOWN, []
        try:
            producer.begin_transaction()
            for message in messages:
                partition = message.partition()
                keys.append(f"{name}|{partition}|{message.offset()}|{number}|{key_of(message)}")
                self._around.history.note(Sent(name, COPIES, partition, keys[-1], now()))
                producer.produce(COPIES, b"", keys[-1].encode(), partition=partition)
            ends = {message.partition(): message.offset() + 1 for message in messages}
            positions = [TopicPartition(ORDERS, partition, offset) for partition, offset in ends.items()]
            self._end(producer, consumer, name, positions)
            outcome = COMMITTED
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            persistently(self._around, name, lambda: producer.abort_transaction(TIMEOUT_S), PATIENCE_S)
            outcome = ABORTED
            self._rewind(consumer, name)
        finally:
            self._around.history.note(Ended(name, number, outcome, COPIES, keys, begun, now()))

    def _end(self, producer: Producer, consumer: Consumer, name: str, positions: list[TopicPartition]) -> None:
        persistently(
            self._around,
            name,
            lambda: producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S),
            PATIENCE_S,
        )
        persistently(self._around, name, lambda: producer.commit_transaction(TIMEOUT_S), PATIENCE_S)

    def _rewind(self, consumer: Consumer, name: str) -> None:
        """Back to what is committed, for as long as that takes to be told."""
        while True:
            try:
                for each in consumer.committed(consumer.assignment(), TIMEOUT_S):
                    if each.error is not None:
                        raise KafkaException(each.error)
                    each.offset = max(0, each.offset)
                    consumer.seek(each)
                return
            except KafkaException as error:
                self._around.trouble(name, error)
                time.sleep(0.2)
