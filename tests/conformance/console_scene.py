"""Topics and records to look at in the console."""

import servers
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

DELIVERY_S = 30


def create(node: servers.ServerProcess, topic: str, partitions: int, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1, config=configs)])[topic].result(DELIVERY_S)


def written(node: servers.ServerProcess, topic: str, records: list[dict[str, object]], **settings: object) -> None:
    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 0, **settings})
    for record in records:
        producer.produce(topic, **record)
        producer.flush(DELIVERY_S)  # one batch each, so that times rise
