"""confluent-kafka: write orders, and add them up in a group that commits what it has handled.

pip install confluent-kafka
KAFKA=127.0.0.1:9092 python confluent_orders.py
"""

import json
import os
from collections import Counter

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

KAFKA = os.environ.get("KAFKA", "127.0.0.1:9092")
TOPIC = os.environ.get("TOPIC", "orders")
ORDERS = [("alice", 2), ("bob", 1), ("alice", 5), ("carol", 3)]


def main() -> None:
    admin = AdminClient({"bootstrap.servers": KAFKA})
    admin.create_topics([NewTopic(TOPIC, num_partitions=3)])[TOPIC].result()
    produce()
    for customer, apples in sorted(consume().items()):
        print(customer, apples)


def produce() -> None:
    # With idempotence a retry never writes a record twice.
    producer = Producer({"bootstrap.servers": KAFKA, "enable.idempotence": True})
    for customer, apples in ORDERS:
        producer.produce(TOPIC, json.dumps({"apples": apples}), key=customer, on_delivery=check)
    producer.flush()


def check(error: object, _message: object) -> None:
    if error is not None:
        raise SystemExit(f"not written: {error}")


def consume() -> Counter[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": KAFKA,
            "group.id": f"{TOPIC}-totals",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    totals: Counter[str] = Counter()
    handled = 0
    try:
        while handled < len(ORDERS):
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                raise SystemExit(f"not read: {message.error()}")
            totals[message.key().decode()] += json.loads(message.value())["apples"]
            handled += 1
            consumer.commit(message)
    finally:
        consumer.close()
    return totals


if __name__ == "__main__":
    main()
