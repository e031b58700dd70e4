"""Idempotent producers: numbered records for every partition of the orders at a steady pace, acknowledged by all replicas."""

import time
from itertools import count

from clients import ORDERS, PARTITIONS, Surroundings, padding
from confluent_kafka import KafkaError, Message, Producer
from history import Acked, Failed, Sent, now

PACE_S = 0.1
IN_FLIGHT_MAX = 30
"""Of one partition: while it takes nothing, its records are not piled up."""
FLUSH_S = 40


class OrdersProducer:
    """After a fatal error it goes on under another name: order is promised within one life only."""

    def __init__(self, around: Surroundings, name: str) -> None:
        self._around = around
        self._name = name
        self._drawn = around.drawn(name)
        self._discarded: list[Producer] = []  # librdkafka does not always come back from destroying one in trouble

    def run(self) -> None:
        for life in count(self._around.first_life):
            if self._live(f"{self._name}.{life}"):
                return

    def _live(self, name: str) -> bool:
        """Whether it came to its end because the run did."""
        producer = Producer(
            self._around.settings(
                enable_idempotence=True, acks="all", linger_ms=0, message_timeout_ms=150_000, batch_num_messages=10
            )
        )
        self._discarded.append(producer)
        in_flight = dict.fromkeys(range(PARTITIONS[ORDERS]), 0)
        fatal: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            partition, key = message.partition(), message.key().decode()
            in_flight[partition] -= 1
            if error is None:
                self._around.history.note(Acked(name, ORDERS, partition, key, message.offset(), now()))
                return
            self._around.history.note(Failed(name, ORDERS, partition, key, error.name(), now()))
            if error.fatal() or error.code() == KafkaError._FATAL:
                fatal.append(error)

        for number in count():
            if self._around.stop.is_set() or fatal:
                break
            tick = time.monotonic() + PACE_S
            for partition in in_flight:
                if in_flight[partition] < IN_FLIGHT_MAX:
                    key = f"{name}|{partition}|{number}"
                    self._around.history.note(Sent(name, ORDERS, partition, key, now()))
                    in_flight[partition] += 1
                    producer.produce(
                        ORDERS, padding(self._drawn), key.encode(), partition=partition, on_delivery=delivered
                    )
            while (left := tick - time.monotonic()) > 0:
                producer.poll(left)
        if fatal:
            self._around.trouble(name, fatal[0])
            return False
        if left := producer.flush(FLUSH_S):
            raise TimeoutError(f"{left} records of {name} were neither acknowledged nor refused in {FLUSH_S} s")
        return True
