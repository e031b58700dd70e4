"""Real clients over TLS with certificates of their own, at one node and at separate processes that speak mutual TLS to each other."""

import asyncio
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import servers
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from certificates import Authority, Issued
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer
from kafka_tools import run_tool

TIMEOUT_S = 60
NODE, CLIENT = "CN=node,OU=Nodes,O=Example", "CN=client,O=Example"


@dataclass(frozen=True)
class Secured:
    """A running server that lets in whom its authority knows."""

    bootstrap: str
    ca: Authority
    own: Issued
    client: Issued

    def librdkafka(self, shown: Issued | None) -> dict[str, str | int | bool]:
        given: dict[str, str | int | bool] = {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.ca.file),
            "log_level": 0,
        }
        if shown is not None:
            given |= {"ssl.certificate.location": str(shown.chain_file), "ssl.key.location": str(shown.key_file)}
        return given

    @property
    def properties(self) -> Path:
        """As Java's tools and ours take them."""
        path = self.ca.directory / "client.properties"
        path.write_text(
            f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={self.ca.file}\n"
            f"ssl.keystore.type=PEM\nssl.keystore.location={self.client.file}\n"
        )
        return path

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca.file))
        context.load_cert_chain(self.client.file)
        return context


def settings(ca: Authority, own: Issued) -> list[str]:
    return [
        "security.inter.broker.protocol=SSL",
        "listener.security.protocol.map=SSL:SSL,CONTROLLER:SSL",
        f"ssl.keystore.location={own.file}",
        f"ssl.truststore.location={ca.file}",
        "ssl.client.auth=required",
        f"super.users=User:{NODE};User:{CLIENT}",
    ]


@pytest.fixture(scope="module")
def secured_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("tls-node")
    ca = Authority(directory / "certificates")
    own, client = ca.issue(NODE, "127.0.0.1"), ca.issue(CLIENT)
    with servers.node(directory, *settings(ca, own)) as running:
        yield Secured(running.bootstrap, ca, own, client)


@pytest.fixture(scope="module")
def secured_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[servers.Cluster, Secured]]:
    directory = tmp_path_factory.mktemp("tls-cluster")
    ca = Authority(directory / "certificates")
    own, client = ca.issue(NODE, "127.0.0.1"), ca.issue(CLIENT)
    with servers.cluster(directory, *settings(ca, own)) as running:
        yield running, Secured(running.bootstrap, ca, own, client)


@pytest.fixture(params=["node", "cluster"])
def secured(request: pytest.FixtureRequest) -> Secured:
    running = request.getfixturevalue(f"secured_{request.param}")
    found: Secured = running if isinstance(running, Secured) else running[1]
    return found


def lines(count: int = 500) -> list[str]:
    return [f"line {number} {'x' * (number % 300)}" for number in range(count)]


def write(secured: Secured, topic: str, values: list[str], partitions: int = 3, replicas: int = 1) -> None:
    admin = AdminClient(secured.librdkafka(secured.client))
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(TIMEOUT_S)
    producer = Producer(secured.librdkafka(secured.client) | {"acks": "all", "enable.idempotence": True})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(TIMEOUT_S) == 0


def read(secured: Secured, topic: str, count: int) -> list[str]:
    config = secured.librdkafka(secured.client) | {"group.id": f"g-{topic}", "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    consumer.subscribe([topic])
    values: list[str] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(values) < count:
        assert time.monotonic() < deadline, f"{len(values)} of {count}"
        found = consumer.consume(1_000, 0.2)
        values += [(message.value() or b"").decode() for message in found if message.error() is None]
    consumer.close()
    return values


def test_confluent_kafka(secured: Secured, topic: str) -> None:
    write(secured, topic, lines())
    assert sorted(read(secured, topic, 500)) == sorted(lines())


def test_aiokafka(secured: Secured, topic: str) -> None:
    common = {
        "bootstrap_servers": secured.bootstrap,
        "security_protocol": "SSL",
        "ssl_context": secured.context(),
    }

    async def scenario() -> list[bytes]:
        write(secured, topic, [])
        producer = AIOKafkaProducer(**common, enable_idempotence=True)
        await producer.start()
        await asyncio.gather(*[await producer.send(topic, each.encode()) for each in lines()])
        await producer.stop()
        consumer = AIOKafkaConsumer(topic, **common, group_id=f"g-{topic}", auto_offset_reset="earliest")
        await consumer.start()
        seen: list[bytes] = []
        while len(seen) < 500:
            for records in (await consumer.getmany(timeout_ms=1_000)).values():
                seen += [record.value for record in records]
        await consumer.stop()
        return seen

    seen = asyncio.run(asyncio.wait_for(scenario(), TIMEOUT_S))
    assert sorted(seen) == sorted(each.encode() for each in lines())


def test_kafka_python(secured: Secured, topic: str) -> None:
    write(secured, topic, [])
    common = {
        "bootstrap_servers": secured.bootstrap,
        "security_protocol": "SSL",
        "ssl_cafile": str(secured.ca.file),
        "ssl_certfile": str(secured.client.chain_file),
        "ssl_keyfile": str(secured.client.key_file),
    }
    producer = KafkaProducer(**common)
    for value in lines():
        producer.send(topic, value.encode())
    producer.flush(TIMEOUT_S)
    producer.close()
    consumer = KafkaConsumer(
        topic, **common, group_id=f"g-{topic}", auto_offset_reset="earliest", consumer_timeout_ms=30_000
    )
    seen = [record.value for _, record in zip(lines(), consumer, strict=False)]
    consumer.close()
    assert sorted(seen) == sorted(each.encode() for each in lines())


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
def test_kcat(secured_node: Secured, topic: str) -> None:
    given = secured_node.librdkafka(secured_node.client)
    options = [
        part for key, value in given.items() if key.startswith(("s", "ssl")) for part in ("-X", f"{key}={value}")
    ]

    def kcat(*arguments: str, stdin: str = "") -> str:
        command = ["kcat", "-b", secured_node.bootstrap, *options, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    kcat("-P", "-t", topic, "-p", "0", stdin="\n".join(lines()) + "\n")
    assert kcat("-C", "-t", topic, "-e", "-q", "-o", "beginning").splitlines() == lines()


@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
def test_java_tools(secured_node: Secured, topic: str) -> None:
    def tool(name: str, *arguments: str, stdin: str | None = None) -> str:
        common = ["--bootstrap-server", secured_node.bootstrap, "--command-config", str(secured_node.properties)]
        done = run_tool(name, [*common, *arguments], stdin=stdin, timeout_s=90)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    tool("kafka-topics", "--create", "--topic", topic, "--partitions", "2")
    tool("kafka-console-producer", "--topic", topic, stdin="\n".join(lines()) + "\n")
    options = ["--topic", topic, "--from-beginning", "--max-messages", "500", "--timeout-ms", "30000"]
    assert sorted(tool("kafka-console-consumer", *options).splitlines()) == sorted(lines())


def test_our_own_command_line(secured: Secured, topic: str) -> None:
    def millstream(*arguments: str, stdin: str = "") -> str:
        options = ["--bootstrap", secured.bootstrap, "--command-config", str(secured.properties)]
        command = [str(Path(sys.executable).with_name("millstream")), *arguments, *options]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    millstream("topic", "create", topic, "--partitions", "2")
    millstream("produce", topic, stdin="\n".join(lines()) + "\n")
    assert sorted(millstream("consume", topic, "--values").splitlines()) == sorted(lines())


def test_who_has_no_certificate_of_the_authority_is_not_served(secured_node: Secured, tmp_path: Path) -> None:
    foreign = Authority(tmp_path / "foreign", "CN=Foreign CA").issue("CN=client,O=Example")
    expired = secured_node.ca.issue("CN=expired", ends=-timedelta(minutes=1))
    for shown in (None, foreign, expired):
        with pytest.raises(KafkaException) as refused:
            AdminClient(secured_node.librdkafka(shown)).list_topics(timeout=1.5)
        assert refused.value.args[0].code() in (KafkaError._TRANSPORT, KafkaError._SSL, KafkaError._TIMED_OUT)
    plain = {"bootstrap.servers": secured_node.bootstrap, "log_level": 0}
    with pytest.raises(KafkaException):
        AdminClient(plain).list_topics(timeout=1.5)
    assert AdminClient(secured_node.librdkafka(secured_node.client)).list_topics(timeout=10).brokers


def test_replicas_and_groups_survive_a_death_over_mutual_tls(
    secured_cluster: tuple[servers.Cluster, Secured], topic: str
) -> None:
    running, secured = secured_cluster
    write(secured, topic, lines(), partitions=6, replicas=3)
    running.kill("broker-2")
    admin = AdminClient(secured.librdkafka(secured.client))

    def others_lead() -> None:
        partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions.values()
        assert all(each.leader in (1, 3) for each in partitions)

    servers.eventually(others_lead)
    assert sorted(read(secured, topic, 500)) == sorted(lines())
    running.restart("broker-2")

    def all_are_in_sync() -> None:
        partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions.values()
        assert all(sorted(each.isrs) == [1, 2, 3] for each in partitions)

    servers.eventually(all_are_in_sync)


def test_certificates_are_exchanged_under_load_and_nobody_notices(fresh: Path, topic: str) -> None:
    ca = Authority(fresh / "certificates")
    own, client = ca.issue(NODE, "127.0.0.1"), ca.issue(CLIENT)
    with servers.node(fresh, *settings(ca, own)) as running:
        secured = Secured(running.bootstrap, ca, own, client)
        write(secured, topic, [], partitions=1)
        failures: list[KafkaError] = []
        producer = Producer(secured.librdkafka(client) | {"enable.idempotence": True, "error_cb": failures.append})
        stop = threading.Event()
        sent = 0

        def go_on() -> None:
            nonlocal sent
            while not stop.wait(0.002):
                producer.produce(topic, b"x", on_delivery=lambda error, _: failures.append(error) if error else None)
                producer.poll(0)
                sent += 1

        producing = threading.Thread(target=go_on)
        producing.start()
        before = shown_by(secured)
        another = ca.issue(NODE, "127.0.0.1", file="another.pem")
        os.replace(another.file, own.file)
        servers.eventually(lambda: _expect(shown_by(secured) != before))
        stop.set()
        producing.join()
        assert producer.flush(TIMEOUT_S) == 0
        assert failures == []
        assert len(read(secured, topic, sent)) == sent


def shown_by(secured: Secured) -> bytes:
    host, port = secured.bootstrap.split(":")
    with secured.context().wrap_socket(socket.create_connection((host, int(port))), server_hostname=host) as connected:
        certificate = connected.getpeercert(binary_form=True)
    assert certificate is not None
    return certificate


def _expect(holds: bool) -> None:
    assert holds
