"""Consumers of a group as an application has them: unmodified clients that commit what they read, and begin anew when they are put out."""

from __future__ import annotations

import threading
import time
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import GroupAuthorizationFailedError

Record = tuple[int, int]
"""Partition and offset."""


class Reader:
    """One member. What it sees is its own: what it was given to read, and what it read, in that order."""

    def __init__(self, clients: dict[str, str], group: str, topic: str, **settings: Any) -> None:
        self._settings: dict[str, Any] = {
            **clients,
            "group_id": group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "heartbeat_interval_ms": 500,
            **settings,
        }
        self._topic = topic
        self._stop = threading.Event()
        self.commits = threading.Event()
        self.commits.set()
        self.partitions: set[int] = set()
        self.read: list[Record] = []
        self.put_out = 0
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._live()
                except GroupAuthorizationFailedError:
                    # A container would end here, and be started again.
                    self.put_out += 1
                    self.partitions = set()
                    time.sleep(0.5)
        except Exception as error:
            self.failure = error

    def _live(self) -> None:
        consumer = KafkaConsumer(self._topic, **self._settings)
        try:
            while not self._stop.is_set():
                found = consumer.poll(timeout_ms=200)
                self.partitions = {each.partition for each in consumer.assignment()}
                self.read += [(each.partition, record.offset) for each, records in found.items() for record in records]
                if found and self.commits.is_set():
                    consumer.commit()
        finally:
            consumer.close(autocommit=False)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self.failure is None, self.failure


def produce(clients: dict[str, str], topic: str, partitions: int, count: int) -> None:
    """`count` records to each partition."""
    producer = KafkaProducer(**clients, acks="all")
    try:
        for sent in [producer.send(topic, b"x", partition=at % partitions) for at in range(partitions * count)]:
            sent.get(timeout=60)
    finally:
        producer.close()


def committed(clients: dict[str, str], group: str, topic: str, partitions: int) -> dict[int, int | None]:
    """As any client sees it."""
    consumer = KafkaConsumer(**clients, group_id=group, enable_auto_commit=False)
    try:
        return {index: consumer.committed(TopicPartition(topic, index)) for index in range(partitions)}
    finally:
        consumer.close(autocommit=False)
