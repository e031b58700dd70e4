"""A producer that goes on whatever happens to the pods, and the look at what became of its records."""

from __future__ import annotations

import threading
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition


class Load:
    """A producer with acks=all that goes on; remembers what was acknowledged, in order."""

    def __init__(self, name: str, clients: dict[str, str]) -> None:
        self._name = name
        self._clients = clients
        self._stop = threading.Event()
        self.acknowledged: list[int] = []
        self.longest_s = 0.0
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        producer = KafkaProducer(**self._clients, acks="all", enable_idempotence=True)
        try:
            number = 0
            while not self._stop.is_set():
                began = time.monotonic()
                producer.send(self._name, str(number).encode(), partition=number % 6).get(timeout=60)
                self.longest_s = max(self.longest_s, time.monotonic() - began)
                self.acknowledged.append(number)
                number += 1
                time.sleep(0.01)
        except Exception as error:
            self.failure = error
        finally:
            producer.close()

    def stop(self) -> None:
        self._stop.set()

    def end(self) -> None:
        """What was acknowledged is there, once and in order."""
        self.stop()
        self._thread.join()
        assert self.failure is None, self.failure
        consumer = KafkaConsumer(**self._clients, auto_offset_reset="earliest", enable_auto_commit=False)
        partitions = [TopicPartition(self._name, index) for index in range(6)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        found: dict[int, list[int]] = {index: [] for index in range(6)}
        deadline = time.monotonic() + 60
        while any(consumer.position(each) < ends[each] for each in partitions):
            assert time.monotonic() < deadline
            for partition, records in consumer.poll(timeout_ms=1000).items():
                found[partition.partition] += [int(record.value) for record in records]
        consumer.close()
        for index, values in found.items():
            assert values == [number for number in self.acknowledged if number % 6 == index]
