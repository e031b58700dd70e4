"""Records that keep coming, and a group of each kind that reads them, until it is left."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from confluent_kafka import Consumer, KafkaException, Producer, ShareConsumer

PAUSE_S = 0.05
END_S = 60
GROUPS = {"billing": "classic", "analytics": "consumer", "shipping": "share"}
"""Their kinds by name."""


@contextlib.contextmanager
def traffic(bootstrap: str, topic: str) -> Iterator[None]:
    ends = threading.Event()
    at = {"bootstrap.servers": bootstrap}
    working: list[Callable[[], None]] = [lambda: _write(at, topic, ends)]
    for group, kind in GROUPS.items():
        told = {**at, "group.id": group, "client.id": f"{group}-worker"}
        reader = (
            ShareConsumer(told)
            if kind == "share"
            else Consumer({**told, "group.protocol": kind, "auto.offset.reset": "earliest"})
        )
        working.append(lambda reader=reader: _read(reader, topic, ends))
    threads = [threading.Thread(target=work) for work in working]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        ends.set()
        for each in threads:
            each.join(END_S)


def _write(at: dict[str, str], topic: str, ends: threading.Event) -> None:
    producer = Producer({**at, "client.id": "shop"})
    number = 0
    while not ends.wait(PAUSE_S):
        producer.produce(topic, key=f"customer-{number % 37}", value=f'{{"order": {number}, "state": "paid"}}')
        producer.poll(0)
        number += 1
    producer.flush(END_S)


def _read(reader: Consumer | ShareConsumer, topic: str, ends: threading.Event) -> None:
    reader.subscribe([topic])
    while not ends.is_set():
        with contextlib.suppress(KafkaException):  # while a coordinator is sought again
            reader.poll(0.5)
    reader.close()
