"""A member of GROUP with confluent-kafka: print each record of TOPIC, committing as it goes, until the file STOP exists and
nothing came for a while. With `-` for STOP it ends once nothing came for a while."""

import json
import sys
import time
from pathlib import Path

import login
from confluent_kafka import Consumer, KafkaError, KafkaException, Message

COMMIT_INTERVAL_S = 0.5
QUIET_S = 8.0


def main() -> None:
    bootstrap, group, topic, stop = sys.argv[1:5]
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 10_000,
        "topic.metadata.refresh.interval.ms": 5_000,
        **login.settings(),
    }
    consumer = Consumer(settings)

    def revoked(consumer: Consumer, _partitions: object) -> None:
        commit(consumer)

    consumer.subscribe([topic], on_revoke=revoked)
    heard = committed = time.monotonic()
    while time.monotonic() < heard + QUIET_S or not (stop == "-" or Path(stop).exists()):
        message: Message | None = consumer.poll(0.2)
        now = time.monotonic()
        if now > committed + COMMIT_INTERVAL_S:
            commit(consumer)
            committed = now
        if message is None:
            continue
        if message.error():
            print(message.error(), file=sys.stderr)
            continue
        heard = now
        record = [message.partition(), message.offset(), message.key().decode(), message.value().decode()]
        print(json.dumps(record), flush=True)
    commit(consumer)
    consumer.close()


def commit(consumer: Consumer) -> None:
    """What cannot be committed now, because a coordinator moves, is committed the next time."""
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._NO_OFFSET:
            print(error, file=sys.stderr)


main()
