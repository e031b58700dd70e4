"""Clients that people use, by every mechanism, at a node where all have to log in, the node's own roles too; and its secrets stay secret."""

import asyncio
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
import servers
from aiokafka.abc import AbstractTokenProvider
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from kafka.net.sasl.oauth import AbstractTokenProvider as OauthTokenProvider
from kafka_tools import KafkaUnavailable, kafka_libs, run_tools
from sasl_scene import AUDIENCE, ISSUER, JAAS, bearer, write_keys

USER, PASSWORD = "admin", "a password of many words"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
MODULES = {"PLAIN": "plain.PlainLoginModule", "SCRAM-SHA-256": "scram.ScramLoginModule", "SCRAM-SHA-512": "scram.ScramLoginModule"}  # fmt: skip
TIMEOUT_S = 60
TOPIC = "words"


class Node:
    def __init__(self, server: servers.ServerProcess, directory: Path, http_port: int) -> None:
        self.server, self.directory, self.http_port = server, directory, http_port

    @property
    def address(self) -> str:
        return self.server.bootstrap


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory = tmp_path_factory.mktemp("node")
    port = servers.free_port()
    own = "listener.name.sasl_plaintext."
    me = f'username="{USER}" password="{PASSWORD}"'
    properties = {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
        f"{own}plain.sasl.jaas.config": f'{JAAS}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
        f"{own}scram-sha-256.sasl.jaas.config": f"{JAAS}.scram.ScramLoginModule required {me};",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{write_keys(directory)}",
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "delegation.token.secret.key": PASSWORD,
        "super.users": f"User:{USER}",
    }
    config, first = directory / "node.properties", directory / "first"
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    first.write_text("".join(f'SCRAM-SHA-{size}=[name={USER},password="{PASSWORD}"]\n' for size in (256, 512)))
    more = ["--config", str(config), "--add-scram", f"@{first}", "--log-level", "DEBUG"]
    with servers.node(directory, port=port, more=more) as server:
        made = Node(server, directory, port + 3)
        admin = AdminClient(librdkafkas(made, "PLAIN"))
        for created in admin.create_topics([NewTopic(TOPIC, 2, 1)]).values():
            created.result(TIMEOUT_S)
        yield made


def librdkafkas(node: Node, mechanism: str) -> dict[str, Any]:
    common = {"bootstrap.servers": node.address, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        return common | {"oauth_cb": lambda _: (bearer(USER), time.time() + 600)}
    return common | {"sasl.username": USER, "sasl.password": PASSWORD}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent_kafka(node: Node, mechanism: str) -> None:
    told = librdkafkas(node, mechanism)
    errors: list[object] = []
    producer = confluent_kafka.Producer(told | {"enable.idempotence": True})
    producer.poll(0)
    producer.produce(TOPIC, f"confluent {mechanism}", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    assert errors == [None]
    consumer = confluent_kafka.Consumer(told | {"group.id": f"c-{mechanism}", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    deadline = time.monotonic() + TIMEOUT_S
    found = False
    while not found and time.monotonic() < deadline:
        message = consumer.poll(1)
        found = message is not None and message.value() == f"confluent {mechanism}".encode()
    consumer.commit(asynchronous=False)
    consumer.close()
    assert found


class Bearer(AbstractTokenProvider):
    async def token(self) -> str:
        return bearer(USER)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(node: Node, mechanism: str) -> None:
    async def scenario() -> None:
        told: dict[str, Any] = {"bootstrap_servers": node.address, "security_protocol": "SASL_PLAINTEXT"}
        told |= {"sasl_mechanism": mechanism, "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
        if mechanism == "OAUTHBEARER":
            told |= {"sasl_oauth_token_provider": Bearer()}
        async with aiokafka.AIOKafkaProducer(**told) as producer:
            await producer.send_and_wait(TOPIC, b"aiokafka", partition=0)
        reader = aiokafka.AIOKafkaConsumer(TOPIC, group_id=f"a-{mechanism}", auto_offset_reset="earliest", **told)
        async with asyncio.timeout(TIMEOUT_S), reader:
            async for message in reader:
                if message.value == b"aiokafka":
                    break
            await reader.commit()

    asyncio.run(scenario())


class PythonBearer(OauthTokenProvider):
    def token(self) -> str:
        return bearer(USER)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(node: Node, mechanism: str) -> None:
    told: dict[str, Any] = {"bootstrap_servers": node.address, "security_protocol": "SASL_PLAINTEXT"}
    told |= {"sasl_mechanism": mechanism, "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
    if mechanism == "OAUTHBEARER":
        told |= {"sasl_oauth_token_provider": PythonBearer()}
    producer = kafka.KafkaProducer(**told)
    assert producer.send(TOPIC, b"kafka-python").get(TIMEOUT_S).topic == TOPIC
    producer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_our_command_line(node: Node, mechanism: str) -> None:
    told = node.directory / f"ours-{mechanism}.properties"
    text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
    if mechanism == "OAUTHBEARER":
        token = node.directory / "token"
        token.write_text(bearer(USER))
        text += f"sasl.oauthbearer.token.endpoint.url=file://{token}\n"
    else:
        text += f'sasl.jaas.config={JAAS}.{MODULES[mechanism]} required username="{USER}" password="{PASSWORD}";\n'
    told.write_text(text)
    command = [servers.MILLSTREAM, "topic", "list", "--bootstrap", node.address, "--command-config", str(told)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert TOPIC in done.stdout, done.stderr


def test_kafkas_console_tools(node: Node) -> None:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    commands: list[tuple[str, list[str]]] = []
    for mechanism, module in MODULES.items():
        told = node.directory / f"{mechanism}.properties"
        told.write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={JAAS}.{module} required username="{USER}" password="{PASSWORD}";\n'
        )
        at = ["--bootstrap-server", node.address, "--topic", TOPIC]
        reads = [*at, "--command-config", str(told), "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000"]
        commands.append(("kafka-console-consumer", [*reads, "--group", f"j-{mechanism}"]))
    confluent_kafka.Producer(librdkafkas(node, "PLAIN")).produce(TOPIC, b"for java")
    for done in run_tools(commands):
        assert "Processed a total of 1 messages" in done.stderr + done.stdout, (done.args, done.stderr)


def test_kcat(node: Node) -> None:
    """Its librdkafka says its nonce twice (scram_server.py)."""
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        told = librdkafkas(node, mechanism)
        options = [part for key, value in told.items() for part in ("-X", f"{key}={value}")]
        command = ["kcat", "-b", node.address, *options, "-L", "-J"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert [broker["id"] for broker in json.loads(done.stdout)["brokers"]] == [0], done.stderr


def test_zz_no_secret_is_in_logs_metrics_settings_or_the_list_of_processes(node: Node) -> None:
    """After all of the above, which used them."""
    admin = AdminClient(librdkafkas(node, "PLAIN"))
    described = admin.describe_configs([ConfigResource(ResourceType.BROKER, "0")])
    settings = [entry for future in described.values() for entry in future.result(TIMEOUT_S).values()]
    assert "super.users" in {entry.name for entry in settings}
    with urllib.request.urlopen(f"http://127.0.0.1:{node.http_port}/metrics", timeout=10) as answer:
        metrics = answer.read().decode()
    places = {
        "settings": " ".join(f"{entry.name}={entry.value}" for entry in settings),
        "metrics": metrics,
        "log": (node.directory / "node.log").read_text(),
        "processes": Path(f"/proc/{node.server.pid}/cmdline").read_text(),
    }
    assert "millstream_logins" in metrics
    for place, text in places.items():
        assert PASSWORD not in text, place
    for entry in settings:
        if entry.name == "delegation.token.secret.key":
            assert entry.is_sensitive
            assert entry.value is None
