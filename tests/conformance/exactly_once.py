"""Consume, transform, produce, in transactions: a worker that goes on after any failure, and a reader that counts results."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

TIMEOUT_S = 30
PARTITIONS = 3
# When every node is gone at once librdkafka would begin anew from its bootstrap list, and a call that waits for the
# coordinator meanwhile never comes back.
PATIENT = {"metadata.recovery.strategy": "none", "reconnect.backoff.max.ms": 500}


class Worker:
    """Copies `source` to `target` in transactions, ten records at a time."""

    def __init__(self, bootstrap: str, source: str, target: str) -> None:
        self._bootstrap = bootstrap
        self._source = source
        self._target = target
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.committed = 0
        self.failures: list[str] = []

    def __enter__(self) -> "Worker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(4 * TIMEOUT_S)
        assert not self._thread.is_alive()

    def wait_for(self, committed: int, *, within_s: float = 120) -> None:
        deadline = time.monotonic() + within_s
        while self.committed < committed:
            assert time.monotonic() < deadline, (self.committed, committed, self.failures[-5:])
            time.sleep(0.05)

    def _run(self) -> None:
        # One producer for as long as it lives: librdkafka does not always come back from destroying one in trouble.
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "transactional.id": f"x-{self._target}",
                "transaction.timeout.ms": 60_000,
                "linger.ms": 0,
                **PATIENT,
            }
        )
        reader = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": f"g-{self._target}",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **PATIENT,
            }
        )
        self._persist(lambda: producer.init_transactions(TIMEOUT_S))
        while not self._stop.is_set():
            try:
                self._work(producer, reader)
            except KafkaException as error:
                self.failures.append(str(error))
                if error.args[0].fatal():
                    raise
                if error.args[0].txn_requires_abort():
                    self._persist(lambda: producer.abort_transaction(TIMEOUT_S))
                self._stop.wait(0.2)
        reader.close()

    def _work(self, producer: Producer, reader: Consumer) -> None:
        partitions = [TopicPartition(self._source, index) for index in range(PARTITIONS)]
        reader.assign([self._start(each) for each in reader.committed(partitions, TIMEOUT_S)])
        while not self._stop.is_set():
            messages = [each for each in reader.consume(10, 0.5) if each.error() is None]
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                producer.produce(self._target, message.value(), partition=message.partition())
            self._persist(
                lambda: producer.send_offsets_to_transaction(
                    reader.position(partitions), reader.consumer_group_metadata(), TIMEOUT_S
                )
            )
            self._persist(lambda: producer.commit_transaction(TIMEOUT_S))
            self.committed += len(messages)

    def _persist(self, act: Callable[[], None]) -> None:
        """Try again what may be tried again."""
        while True:
            try:
                act()
                return
            except KafkaException as error:
                if not error.args[0].retriable() or self._stop.is_set():
                    raise
                self.failures.append(str(error))

    def _start(self, found: TopicPartition) -> TopicPartition:
        if found.error is not None:
            raise KafkaException(found.error)
        return TopicPartition(found.topic, found.partition, max(0, found.offset))


def results(bootstrap: str, topic: str, count: int, *, within_s: float = 60) -> Counter[bytes]:
    """How often a reader of committed records sees each value; it stops at the partitions' ends."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"r-{topic}",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    found: Counter[bytes] = Counter()
    at_end: set[int] = set()
    deadline = time.monotonic() + within_s
    while (found.total() < count or len(at_end) < PARTITIONS) and time.monotonic() < deadline:
        message = reader.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            at_end.add(message.partition())
        else:
            at_end.discard(message.partition())
            found[message.value()] += 1
    reader.close()
    return found


def main() -> None:
    """Work as a process of its own, until somebody kills it: bootstrap, source, target."""
    with Worker(*sys.argv[1:4]):
        threading.Event().wait()


if __name__ == "__main__":
    main()
