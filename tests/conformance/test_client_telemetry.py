"""Clients' own metrics (KIP-714): asked for with Kafka's tool, pushed by unmodified clients, shown at /metrics."""

import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator

import pytest
import servers
from confluent_kafka import Producer
from kafka_tools import run_tool, tool_command
from test_confluent import create

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

SUBSCRIPTION = "all"
INTERVAL_MS = 500
PATIENCE_S = 60


def metrics_of(node: servers.ServerProcess) -> list[str]:
    host, _, port = node.bootstrap.partition(":")
    with urllib.request.urlopen(f"http://{host}:{int(port) + 3}/metrics", timeout=10) as answer:
        return [line for line in answer.read().decode().splitlines() if line.startswith("millstream_client_")]


@pytest.fixture
def asked(node: servers.ServerProcess) -> Iterator[None]:
    def tool(*arguments: str) -> None:
        result = run_tool("kafka-client-metrics", ["--bootstrap-server", node.bootstrap, *arguments])
        assert result.returncode == 0, result.stdout + result.stderr

    tool("--alter", "--name", SUBSCRIPTION, "--metrics", "org.apache.kafka.producer.", "--interval", str(INTERVAL_MS))
    yield
    tool("--delete", "--name", SUBSCRIPTION)


def shown(node: servers.ServerProcess, client_id: str, metric: str) -> None:
    found = [line for line in metrics_of(node) if f'client_id="{client_id}"' in line]
    assert any(line.startswith(f"millstream_client_{metric}") for line in found), found[:20]


def test_librdkafka_tells_of_itself(node: servers.ServerProcess, topic: str, asked: None) -> None:
    create(node.bootstrap, topic, 1)
    producer = Producer({"bootstrap.servers": node.bootstrap, "client.id": f"c-{topic}"})
    deadline = time.monotonic() + PATIENCE_S
    while True:
        producer.produce(topic, b"x")
        producer.flush(10)
        try:
            return shown(node, f"c-{topic}", "producer_connection_creation_total")
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def test_the_java_producer_tells_of_itself(node: servers.ServerProcess, topic: str, asked: None) -> None:
    create(node.bootstrap, topic, 1)
    arguments = ["--bootstrap-server", node.bootstrap, "--topic", topic, "--num-records", "100000"]
    arguments += ["--record-size", "50", "--throughput", "1000", "--command-property", f"client.id=c-{topic}"]
    with subprocess.Popen(tool_command("kafka-producer-perf-test", arguments), stdout=subprocess.DEVNULL) as process:
        try:
            servers.eventually(lambda: shown(node, f"c-{topic}", "producer_record_"), within_s=PATIENCE_S, every_s=0.5)
        finally:
            process.kill()


def test_nobody_is_asked_without_a_subscription(node: servers.ServerProcess, topic: str) -> None:
    create(node.bootstrap, topic, 1)
    producer = Producer({"bootstrap.servers": node.bootstrap, "client.id": f"c-{topic}"})
    for _ in range(10):
        producer.produce(topic, b"x")
        producer.flush(10)
        time.sleep(0.1)
    assert [line for line in metrics_of(node) if f"c-{topic}" in line] == []
