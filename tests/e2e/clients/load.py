"""Produce to TOPIC at a steady rate until the file STOP exists; print where each acknowledged record was stored.

Idempotent, and patient: whatever dies meanwhile, a record is either acknowledged or still being tried.
"""

import json
import sys
import time
from pathlib import Path

import login
from confluent_kafka import KafkaError, Message, Producer

KEYS = 20
PAUSE_S = 0.01


def main() -> None:
    bootstrap, topic, stop = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    failures = []

    def stored(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(str(error))
            return
        print(json.dumps([message.partition(), message.offset(), message.key().decode(), message.value().decode()]))

    settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": 240_000}
    producer = Producer(settings | login.settings())
    number = 0
    while not stop.exists():
        producer.produce(topic, key=f"key-{number % KEYS}", value=str(number), on_delivery=stored)
        number += 1
        producer.poll(PAUSE_S)
        time.sleep(PAUSE_S)
    left = producer.flush(240)
    if failures or left:
        sys.exit(f"{left} records left, failures: {failures[:3]}")


main()
