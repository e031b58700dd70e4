"""Fetch from partition 0 of TOPIC, with a GROUP that is not joined, and print, as one list, the name of the error or of nothing: what a user may not read."""

import json
import sys

import login
from confluent_kafka import Consumer, TopicPartition

TRIES = 60


def main() -> None:
    bootstrap, group, topic = sys.argv[1:4]
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(settings | login.settings())
    consumer.assign([TopicPartition(topic, 0, 0)])
    for _ in range(TRIES):
        message = consumer.poll(0.5)
        if message is not None:
            error = message.error()
            print(json.dumps([error.name() if error else "a record"]))
            break
    else:
        print(json.dumps(["nothing"]))
    consumer.close()


main()
