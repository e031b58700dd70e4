"""Read SOURCE as a member of GROUP and write what was read to SINK, a transaction for each batch, as a program of its own: pipeline SOURCE SINK GROUP < SETTINGS.

What fails is aborted and done again from where it was committed; whoever is fenced, or hears nothing definite for a while, ends and is started again by
`Traffic`. So does who hangs: where a coordinator is away librdkafka's calls need not come back, whatever their time-out (2.16). A line for each batch says
what became of it.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

RECORDS_AT_ONCE = 500
BATCH_S = 0.5
CALL_S = 10
RESUMED_S = 20
HANGS_S = 45


def main() -> None:
    settings, (source, sink, group) = json.load(sys.stdin), sys.argv[1:]
    signal.alarm(HANGS_S)
    consumer = Consumer(
        settings
        | {
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 10_000,
        }
    )
    consumer.subscribe([source])
    producer = Producer(settings | {"transactional.id": group, "transaction.timeout.ms": 60_000})
    until_done(producer, lambda: producer.init_transactions(CALL_S))
    while True:
        messages = [each for each in consumer.consume(RECORDS_AT_ONCE, timeout=BATCH_S) if each.error() is None]
        signal.alarm(HANGS_S)
        if not messages:
            print("idle", flush=True)
            continue
        producer.begin_transaction()
        try:
            for message in messages:
                producer.produce(sink, value=message.value(), partition=message.partition())
            ends = {each.partition(): each.offset() + 1 for each in messages}
            offsets = [TopicPartition(source, partition, offset) for partition, offset in ends.items()]
            member = consumer.consumer_group_metadata()
            until_done(producer, lambda: producer.send_offsets_to_transaction(offsets, member, CALL_S))  # noqa: B023
            until_done(producer, lambda: producer.commit_transaction(CALL_S))
            print("committed", flush=True)
        except KafkaException as error:
            print(f"aborted: {error.args[0].name()}", flush=True)
            if not error.args[0].txn_requires_abort():
                sys.exit(1)
            until_done(producer, lambda: producer.abort_transaction(CALL_S))
            for each in consumer.committed(consumer.assignment(), timeout=CALL_S):
                consumer.seek(TopicPartition(each.topic, each.partition, max(each.offset, 0)))


def until_done(producer: Producer, step: Callable[[], Any]) -> None:
    """As librdkafka asks of an application: what may be tried again is, for a while."""
    deadline = time.monotonic() + RESUMED_S
    while True:
        try:
            step()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise
            producer.poll(0)


if __name__ == "__main__":
    main()
