"""Produce COUNT records with keys to TOPIC with confluent-kafka and print where each was stored, one JSON line per record."""

import json
import sys

import login
from confluent_kafka import KafkaError, Message, Producer

KEYS = 50


def main() -> None:
    bootstrap, topic, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    failures = []

    def stored(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(str(error))
            return
        print(json.dumps([message.partition(), message.offset(), message.key().decode(), message.value().decode()]))

    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, **login.settings()}
    )
    for number in range(first, first + count):
        producer.produce(topic, key=f"key-{number % KEYS}", value=f"value-{number}", on_delivery=stored)
        producer.poll(0)
    left = producer.flush(60)
    if failures or left:
        sys.exit(f"{left} records left, failures: {failures[:3]}")


main()
