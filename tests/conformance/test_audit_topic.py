"""The audit topic of a node that plays all roles: one of them writes what all of them say. (`test_secrets.py` has it of a cluster with logins.)"""

import json
import time
from pathlib import Path

import servers
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

TIMEOUT_S = 60


def changes(bootstrap: str, enough: int) -> list[tuple[str, str, str]]:
    """Who said which change of what, but for the topics that coordinators make for themselves."""
    told = {"bootstrap.servers": bootstrap, "group.id": "auditors", "auto.offset.reset": "earliest"}
    consumer = Consumer({**told, "enable.auto.commit": False})
    consumer.subscribe(["audit"])
    found: list[tuple[str, str, str]] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(found) < enough and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            record = json.loads(message.value())
            if not record["resource"].startswith("TOPIC:__"):
                found.append((record["node"], record["api"], record["resource"]))
    consumer.close()
    return found


def test_all_roles_of_a_process_say_it_once_and_also_across_a_restart(tmp_path: Path) -> None:
    port = servers.free_port()
    with servers.node(tmp_path, "millstream.audit.topic=audit", port=port) as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(TIMEOUT_S)
        producer = Producer({"bootstrap.servers": node.bootstrap})
        for number in range(100):
            producer.produce("t", str(number))
        assert producer.flush(TIMEOUT_S) == 0
        admin.create_partitions([NewPartitions("t", 3)])["t"].result(TIMEOUT_S)
        said = changes(node.bootstrap, 3)
        assert sorted(said) == [
            ("controller-20000", "CREATE_PARTITIONS", "TOPIC:t"),
            ("controller-20000", "CREATE_TOPICS", "TOPIC:audit"),
            ("controller-20000", "CREATE_TOPICS", "TOPIC:t"),
        ]
        assert node.stop() == 0
        node.start()
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.delete_topics(["t"])["t"].result(TIMEOUT_S)
        assert changes(node.bootstrap, 4) == [*said, ("controller-20000", "DELETE_TOPICS", "TOPIC:t")]
