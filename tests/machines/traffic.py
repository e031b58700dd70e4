"""Clients that go on whatever happens to the machines: a producer, a group, a transactional pipeline. And the judgement of what became of their records."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

PARTITIONS = 6
PAUSE_S = 0.02
PATIENT_MS = 240_000
IMPATIENT = {
    "socket.timeout.ms": 3_000,
    "socket.connection.setup.timeout.ms": 3_000,
    "topic.metadata.refresh.interval.ms": 1_000,
}
"""For who falls silent: with librdkafka's own 60 s and 5 minutes a node that is cut off would be missed for as long as it is away."""
POLL_S = 0.2
COMMIT_EVERY_S = 0.5
PIPELINE = Path(__file__).with_name("pipeline.py")
MEMBERS = 2
RECORDS_AT_ONCE = 500


class Traffic:
    """From `source` into `sink`. Bounded by the length of a scenario."""

    def __init__(self, settings: dict[str, str], source: str, sink: str) -> None:
        self._settings: dict[str, str | int] = {**settings, **IMPATIENT}
        self.source = source
        self.sink = sink
        self.acknowledged: defaultdict[int, list[int]] = defaultdict(list)
        """The numbers that were produced, by partition and in the order of their offsets."""
        self._longest_s: Counter[int] = Counter()
        """The longest wait for an acknowledgement since the last look, by partition."""
        self._waits: dict[int, float] = {}
        self._read: set[tuple[int, int]] = set()
        self._read_at: float | None = None
        self._silent_s = 0.0
        self.aborted: list[str] = []
        """Why the pipeline had to begin a transaction again."""
        self._committed = 0
        self._failures: list[BaseException | str] = []
        self._stop_producing = threading.Event()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._guarded, args=(self._produce,))]
        self._threads += [threading.Thread(target=self._guarded, args=(self._consume,)) for _ in range(MEMBERS)]
        self._threads.append(threading.Thread(target=self._guarded, args=(self._pipe,)))
        for each in self._threads:
            each.start()

    @property
    def flows(self) -> bool:
        """Whether everybody has begun."""
        assert not self._failures, self._failures
        return len(self.acknowledged) == PARTITIONS and bool(self._read) and self._committed > 0

    def away(self) -> str:
        """What the clients felt since the last look: how long a partition took no records, and the group none."""
        longest, silent = self.longest_s(), max(self._silent_s, time.monotonic() - (self._read_at or time.monotonic()))
        self._longest_s.clear()
        self._silent_s = 0.0
        return f"a partition away {longest:.1f} s at most, the group {silent:.1f} s"

    def longest_s(self) -> float:
        """Also of those that still wait."""
        return max([*self._longest_s.values(), self.waits_s()], default=0.0)

    def waits_s(self) -> float:
        """How long the oldest record that is not acknowledged has been waiting."""
        now = time.monotonic()
        return max((now - began for began in list(self._waits.values())), default=0.0)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._failures.append(error)

    def _produce(self) -> None:
        producer = Producer(
            self._settings | {"enable.idempotence": True, "acks": "all", "message.timeout.ms": PATIENT_MS}
        )
        number = 0
        while not self._stop_producing.is_set():
            partition, began = number % PARTITIONS, time.monotonic()

            def stored(error: KafkaError | None, message: Message, number: int = number, began: float = began) -> None:
                if error is not None:
                    self._failures.append(f"record {number}: {error}")
                    return
                partition = message.partition()
                self._waits.pop(number, None)
                self.acknowledged[partition].append(number)
                self._longest_s[partition] = max(self._longest_s[partition], time.monotonic() - began)

            self._waits[number] = began
            producer.produce(self.source, value=str(number), partition=partition, on_delivery=stored)
            number += 1
            producer.poll(PAUSE_S)
            time.sleep(PAUSE_S)
        left = producer.flush(PATIENT_MS / 1000)
        if left:
            self._failures.append(f"{left} records were never acknowledged")

    def _consume(self) -> None:
        consumer = Consumer(self._group("readers"))
        consumer.subscribe([self.source])
        committed = time.monotonic()
        while not self._stop.is_set():
            messages = consumer.consume(RECORDS_AT_ONCE, timeout=POLL_S)
            now = time.monotonic()
            for message in messages:
                if message.error() is None:
                    self._read.add((message.partition(), int(message.value())))
                    if self._read_at is not None:
                        self._silent_s = max(self._silent_s, now - self._read_at)
                    self._read_at = now
            if now > committed + COMMIT_EVERY_S:
                commit(consumer)
                committed = now
        commit(consumer)
        consumer.close()

    def _pipe(self) -> None:
        """Start the pipeline again whenever it ends."""
        while not self._stop.is_set():
            words = [sys.executable, str(PIPELINE), self.source, self.sink, self._pipeline]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(self._settings))
            process.stdin.close()
            for line in process.stdout:
                self._committed += line.startswith("committed")
                if line.startswith("aborted"):
                    self.aborted.append(line.strip())
                if self._stop.is_set():
                    process.kill()
            process.stdout.close()
            if process.wait() == -signal.SIGALRM:
                self.aborted.append("hung")

    @property
    def _pipeline(self) -> str:
        return f"{self.source}-pipeline"

    def _has_piped(self, ends: dict[int, int]) -> bool:
        """Whether the pipeline has committed its way to there."""
        wanted = [TopicPartition(self.source, index) for index in ends]
        consumer = Consumer(self._group("pipeline"))
        try:
            found = consumer.committed(wanted, timeout=10)
        except KafkaException:
            return False
        finally:
            consumer.close()
        return {each.partition: each.offset for each in found} == ends

    def _group(self, name: str) -> dict[str, Any]:
        return {
            **self._settings,
            "group.id": f"{self.source}-{name}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 10_000,
        }

    def end(self) -> str:
        """Everything that was acknowledged is there once and in order, the group has read it, and the pipeline has passed it on once."""
        self._stop_producing.set()
        self._threads[0].join()
        produced = sum(map(len, self.acknowledged.values()))
        ends = {partition: len(numbers) for partition, numbers in self.acknowledged.items()}
        deadline = time.monotonic() + 120
        while not (has_piped := self._has_piped(ends)) or len(self._read) < produced:
            if self._failures or time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        self._stop.set()
        for each in self._threads:
            each.join()
        assert not self._failures, self._failures[:5]
        assert len(self._read) == produced, f"of {produced} the group read {len(self._read)}"
        assert has_piped, f"the pipeline did not come to the end: {Counter(self.aborted)}"
        for topic in (self.source, self.sink):
            stored = self._stored(topic)
            for partition in range(PARTITIONS):
                assert stored[partition] == self.acknowledged[partition], differing(
                    topic, partition, stored[partition], self.acknowledged[partition]
                )
        return (
            f"{produced} acknowledged, none lost, doubled or out of order; {Counter(self.aborted) or 'nothing'} aborted"
        )

    def stop(self) -> None:
        self._stop_producing.set()
        self._stop.set()
        for each in self._threads:
            each.join()

    def _stored(self, topic: str) -> defaultdict[int, list[int]]:
        """What is committed of a topic, by partition."""
        consumer = Consumer(self._group("judge") | {"enable.partition.eof": True})
        consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        found: defaultdict[int, list[int]] = defaultdict(list)
        at_the_end: set[int] = set()
        deadline = time.monotonic() + 120
        while len(at_the_end) < PARTITIONS:
            assert time.monotonic() < deadline, f"{topic} is not read to its end"
            for message in consumer.consume(RECORDS_AT_ONCE, timeout=POLL_S):
                error = message.error()
                if error is None:
                    found[message.partition()].append(int(message.value()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    at_the_end.add(message.partition())
        consumer.close()
        return found


def commit(consumer: Consumer) -> None:
    """What cannot be committed now, because a coordinator or the group moves, is committed the next time."""
    try:
        consumer.commit(asynchronous=False)
    except KafkaException:
        return


def differing(topic: str, partition: int, stored: list[int], wanted: list[int]) -> str:
    lost = sorted(set(wanted) - set(stored))
    doubled = [number for number, count in Counter(stored).items() if count > 1]
    more = sorted(set(stored) - set(wanted))
    return f"{topic}-{partition}: lost {lost[:5]}, doubled {doubled[:5]}, never acknowledged {more[:5]}, in order {stored == sorted(stored)}"
