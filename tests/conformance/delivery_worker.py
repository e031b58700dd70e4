"""A consumer that does something with each record, in one of four orders of doing and committing; any trouble ends it.

    delivery_worker.py MODE BOOTSTRAP SOURCE DIRECTORY

It notes what it did in files of DIRECTORY, a line at a time, and exits with 0 once it has read everything.
"""

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

BATCH = 10
PARTITIONS = 3
WORK_S = 0.003
TIMEOUT_S = 30


class Notes:
    """Lines in a file; each is there once it was written, whatever becomes of the process."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def write(self, value: bytes) -> None:
        os.write(self._descriptor, value + b"\n")


def new_consumer(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            # Static: whoever comes after a death is the same member, and gets its partitions at once.
            "group.instance.id": "the-worker",
            "session.timeout.ms": 30_000,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 500,
            "metadata.recovery.strategy": "none",
        }
    )


def batches(consumer: Consumer) -> Iterator[list[Message]]:
    """Records as they come, until every partition was read to its end."""
    at_end: set[int] = set()
    while len(at_end) < PARTITIONS:
        records = []
        for message in consumer.consume(BATCH, 0.2):
            error = message.error()
            if error is None:
                records.append(message)
                at_end.discard(message.partition())
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
            elif not error.retriable():
                raise KafkaException(error)
        if records:
            yield records


def following(records: list[Message]) -> list[TopicPartition]:
    """The offsets to commit once these records are done with."""
    ends = {message.partition(): message.offset() + 1 for message in records}
    return [TopicPartition(records[0].topic(), partition, offset) for partition, offset in ends.items()]


def at_most_once(bootstrap: str, source: str, directory: Path) -> None:
    """Committed first: what was not done by then is never done."""
    done = Notes(directory / "done")
    consumer = new_consumer(bootstrap, f"g-{source}")
    consumer.subscribe([source])
    for records in batches(consumer):
        consumer.commit(offsets=following(records), asynchronous=False)
        for message in records:
            time.sleep(WORK_S)
            done.write(message.value())


def at_least_once(bootstrap: str, source: str, directory: Path) -> None:
    """Done first: what was not committed by then is done again."""
    done = Notes(directory / "done")
    consumer = new_consumer(bootstrap, f"g-{source}")
    consumer.subscribe([source])
    for records in batches(consumer):
        for message in records:
            time.sleep(WORK_S)
            done.write(message.value())
        consumer.commit(offsets=following(records), asynchronous=False)


def exactly_once(bootstrap: str, source: str, directory: Path) -> None:
    """Results and offsets in one transaction of the cluster's."""
    progress = Notes(directory / "progress")
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"x-{source}",
            "linger.ms": 0,
            "reconnect.backoff.max.ms": 500,
            "metadata.recovery.strategy": "none",
        }
    )
    producer.init_transactions(TIMEOUT_S)
    consumer = new_consumer(bootstrap, f"g-{source}")
    consumer.subscribe([source])
    for records in batches(consumer):
        producer.begin_transaction()
        for message in records:
            time.sleep(WORK_S)
            producer.produce(f"{source}-results", message.value(), partition=message.partition())
        producer.send_offsets_to_transaction(following(records), consumer.consumer_group_metadata(), TIMEOUT_S)
        producer.commit_transaction(TIMEOUT_S)
        for message in records:
            progress.write(message.value())


def offsets_outside(bootstrap: str, source: str, directory: Path) -> None:
    """Results and offsets in one transaction of the application's own database; the cluster keeps no offsets."""
    progress = Notes(directory / "progress")
    database = sqlite3.connect(directory / "results.db")
    with database:
        database.execute("CREATE TABLE IF NOT EXISTS results (value TEXT)")
        database.execute("CREATE TABLE IF NOT EXISTS offsets (number INTEGER PRIMARY KEY, next INTEGER)")
    known = dict(database.execute("SELECT number, next FROM offsets"))
    consumer = new_consumer(bootstrap, f"unused-{source}")
    consumer.assign([TopicPartition(source, index, known.get(index, 0)) for index in range(PARTITIONS)])
    for records in batches(consumer):
        with database:
            for message in records:
                time.sleep(WORK_S)
                database.execute("INSERT INTO results VALUES (?)", (message.value().decode(),))
            ends = [(end.partition, end.offset) for end in following(records)]
            database.executemany("INSERT OR REPLACE INTO offsets VALUES (?, ?)", ends)
        for message in records:
            progress.write(message.value())


MODES: dict[str, Callable[[str, str, Path], None]] = {
    "at-most-once": at_most_once,
    "at-least-once": at_least_once,
    "exactly-once": exactly_once,
    "offsets-outside": offsets_outside,
}


def main() -> None:
    mode, bootstrap, source, directory = sys.argv[1:]
    try:
        MODES[mode](bootstrap, source, Path(directory))
    except KafkaException as error:
        print(f"{mode}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    # librdkafka does not always come back from closing while nodes are away; there is nothing left to do.
    os._exit(0)


if __name__ == "__main__":
    main()
