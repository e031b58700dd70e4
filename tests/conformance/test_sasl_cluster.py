"""A cluster of processes that know each other by SCRAM alone, controllers too: it is begun, it loses its controller, it lets nobody join."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import servers
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from sasl_scene import JAAS

TIMEOUT_S = 60
USERS = {"node": "node-secret", "alice": "alice-secret"}
LISTENERS = ("plaintext", "controller")


def settings(user: str, password: str) -> dict[str, str]:
    module = f'{JAAS}.scram.ScramLoginModule required username="{user}" password="{password}";'
    return {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "sasl.mechanism.controller.protocol": "SCRAM-SHA-512",
        "super.users": "User:node",
        **{f"listener.name.{name}.scram-sha-512.sasl.jaas.config": module for name in LISTENERS},
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Cluster]:
    directory = tmp_path_factory.mktemp("cluster")
    first = directory / "first"
    first.write_text("".join(f"SCRAM-SHA-512=[name={name},password={word}]\n" for name, word in USERS.items()))
    told = [f"{key}={value}" for key, value in settings("node", USERS["node"]).items()]
    with servers.cluster(directory, *told, brokers=2, more=["--add-scram", f"@{first}"]) as running:
        yield running


def client(cluster: servers.Cluster, user: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": USERS[user],
    }


def test_replicas_groups_and_a_lost_controller(cluster: servers.Cluster) -> None:
    told = client(cluster, "node")
    admin = AdminClient(told)
    admin.create_topics([NewTopic("t", 4, 2)])["t"].result(TIMEOUT_S)
    active = next(
        name for name in ("controller-1", "controller-2") if cluster.metric(name, "millstream_active_controller")
    )
    cluster.kill(active)
    admin.create_topics([NewTopic("later", 1, 2)], operation_timeout=TIMEOUT_S)["later"].result(TIMEOUT_S)
    cluster.restart(active)
    producer = Producer(told | {"acks": "all", "transactional.id": "x"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for number in range(40):
        producer.produce("t", str(number))
    producer.commit_transaction(TIMEOUT_S)
    consumer = Consumer(told | {"group.id": "g", "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
    consumer.subscribe(["t"])
    seen: set[bytes] = set()
    deadline = time.monotonic() + TIMEOUT_S
    while len(seen) < 40 and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            seen.add(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    assert seen == {str(number).encode() for number in range(40)}


def test_a_client_may_do_nothing_that_nobody_granted(cluster: servers.Cluster) -> None:
    admin = AdminClient(client(cluster, "alice"))
    with pytest.raises(KafkaException, match="AUTHORIZATION_FAILED"):
        admin.create_topics([NewTopic("alices", 1, 1)])["alices"].result(TIMEOUT_S)


@pytest.mark.parametrize(
    ("password", "told"), [("alice-secret", "CLUSTER_AUTHORIZATION_FAILED"), ("x", "invalid credentials")]
)
def test_a_node_with_a_clients_credentials_or_none_does_not_join(
    cluster: servers.Cluster, tmp_path: Path, password: str, told: str
) -> None:
    command = cluster.processes()["broker-1"]["command"]
    assert isinstance(command, list)
    config = Path(command[command.index("--config") + 1])
    controllers = next(line for line in config.read_text().splitlines() if line.startswith("controller.bootstrap"))
    mine = settings("alice", password) | {
        "process.roles": "broker",
        "node.id": "7",
        "broker.session.timeout.ms": "1000",
    }
    file = tmp_path / "node.properties"
    file.write_text("\n".join([controllers, *(f"{key}={value}" for key, value in mine.items())]))
    arguments = ["node", "--config", str(file), "--data", str(tmp_path / "data"), "--port", "0"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([servers.MILLSTREAM, *arguments], stdout=log, stderr=log)
        try:
            servers.eventually(lambda: _expect(told in (tmp_path / "log").read_text(), tmp_path / "log"))
        finally:
            process.kill()
            process.wait(TIMEOUT_S)
    assert "registered node=7" not in (tmp_path / "log").read_text()


def _expect(holds: bool, log: Path) -> None:
    assert holds, log.read_text()
