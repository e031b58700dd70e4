"""The look that is taken when everything is over: final_look.py BOOTSTRAP HISTORY GROUP,... reads all topics to their ends, both ways."""

import os
import sys
import time
from pathlib import Path

from clients import COMMON, ORDERS, PARTITIONS, TIMEOUT_S, key_of
from confluent_kafka import Consumer, KafkaException, TopicPartition
from history import COMMITTED_ONLY, EVERYTHING, Final, FinalCommit, HistoryFile, now

DECIDED_WITHIN_S = 30
"""How long the last transactions may take until readers of committed records see all that others see."""
READ_WITHIN_S = 60


class FinalReader:
    """One topic, one isolation."""

    def __init__(self, bootstrap: str, isolation: str, topic: str) -> None:
        self._isolation = isolation
        self._topic = topic
        self._partitions = [TopicPartition(topic, number, 0) for number in range(PARTITIONS[topic])]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                **COMMON,
                "group.id": "final-look",
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "auto.offset.reset": "error",
            }
        )

    def ends(self) -> list[int]:
        return [self._consumer.get_watermark_offsets(each, TIMEOUT_S)[1] for each in self._partitions]

    def read(self, ends: list[int]) -> list[Final]:
        """What is there in the time there is; the checker misses the rest."""
        found: list[list[tuple[int, str]]] = [[] for _ in ends]
        self._consumer.assign(self._partitions)
        deadline = time.monotonic() + READ_WITHIN_S
        while time.monotonic() < deadline and not self._at(ends):
            for message in self._consumer.consume(1_000, 0.5):
                if message.error() is not None:
                    print(f"final look: {message.error()}", file=sys.stderr)
                elif message.offset() < ends[message.partition()]:
                    found[message.partition()].append((message.offset(), key_of(message)))
        return [
            Final(
                self._isolation,
                self._topic,
                number,
                [offset for offset, _ in records],
                [key for _, key in records],
                end,
            )
            for number, (records, end) in enumerate(zip(found, ends, strict=True))
        ]

    def _at(self, ends: list[int]) -> bool:
        positions = self._consumer.position(self._partitions)
        return all(position.offset >= end for position, end in zip(positions, ends, strict=True) if end > 0)


def look(bootstrap: str, history: HistoryFile) -> None:
    for topic in PARTITIONS:
        everything = FinalReader(bootstrap, EVERYTHING, topic)
        committed = FinalReader(bootstrap, COMMITTED_ONLY, topic)
        deadline = time.monotonic() + DECIDED_WITHIN_S
        while (stable := committed.ends()) != everything.ends() and time.monotonic() < deadline:
            time.sleep(0.3)
        history.note(*everything.read(everything.ends()))
        history.note(*committed.read(stable))


def look_at_group(bootstrap: str, group: str, history: HistoryFile) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, **COMMON, "group.id": group})
    partitions = [TopicPartition(ORDERS, number) for number in range(PARTITIONS[ORDERS])]
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        begun = now()
        try:
            found = consumer.committed(partitions, TIMEOUT_S)
            if errors := [each.error for each in found if each.error is not None]:
                raise KafkaException(errors[0])
            break
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)
    history.note(*(FinalCommit(group, ORDERS, each.partition, max(-1, each.offset), begun) for each in found))


def main() -> None:
    bootstrap, path, groups = sys.argv[1:]
    history = HistoryFile(Path(path))
    look(bootstrap, history)
    for group in groups.split(","):
        look_at_group(bootstrap, group, history)
    os._exit(0)


if __name__ == "__main__":
    main()
