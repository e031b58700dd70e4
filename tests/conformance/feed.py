"""Records that come all the while, for readers that come and go."""

import threading

from confluent_kafka import Producer
from verifiable_members import Partition


class Feed:
    """Evenly over the partitions; `ends` is where each ends so far."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.ends: dict[Partition, int] = {(topic, number): 0 for number in range(partitions)}
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            for topic, number in self.ends:
                self._producer.produce(topic, b"x", partition=number)
                self.ends[topic, number] += 1
            self._producer.poll(0)
        assert self._producer.flush(30) == 0

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
