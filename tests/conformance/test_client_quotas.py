"""Client quotas by Kafka's own tools: set with kafka-configs, and kept to by kafka-producer-perf-test and a consumer."""

import re
import shutil
import time
from collections.abc import Sequence

import confluent_kafka
import pytest
import servers
from kafka_tools import run_tools

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

TIMEOUT_S = 120
RATE = 2_000_000
FREE = 10 * RATE
"""What fits into the windows that a rate is taken over is no rate yet, as in Kafka; what comes after it has to wait."""
TOTAL = 13 * RATE


def configs(bootstrap: str, *arguments: str) -> tuple[str, Sequence[str]]:
    return "kafka-configs", ["--bootstrap-server", bootstrap, *arguments]


def outputs(*commands: tuple[str, Sequence[str]]) -> list[str]:
    results = run_tools(commands, timeout_s=TIMEOUT_S)
    for result in results:
        assert result.returncode == 0, result.stdout + result.stderr
    return [result.stdout for result in results]


def test_producers_and_consumers_are_kept_to_their_rates(node: servers.ServerProcess, topic: str) -> None:
    name, server = f"quota-{topic}", node.bootstrap
    entity = ["--entity-type", "clients", "--entity-name", name]
    rates = f"producer_byte_rate={RATE},consumer_byte_rate={RATE}"
    properties = [f"bootstrap.servers={server}", f"client.id={name}", "batch.size=100000", "max.request.size=200000"]
    load = ["--topic", topic, "--num-records", str(TOTAL // 10_000), "--record-size", "10000", "--throughput", "-1"]
    *_, described, produced = outputs(
        configs(server, "--alter", "--add-config", rates, *entity),
        ("kafka-topics", ["--bootstrap-server", server, "--create", "--topic", topic]),
        configs(server, "--describe", *entity),
        ("kafka-producer-perf-test", [*load, "--print-metrics", "--command-property", *properties]),
    )
    throttled = re.search(r"produce-throttle-time-max:\S*\s*: ([\d.]+)", produced)
    records_per_s = re.findall(r" ([\d.]+) records/sec", produced)[-1]
    assert f"producer_byte_rate={RATE}.0" in described
    assert throttled is not None, produced
    assert float(throttled.group(1)) > 100
    assert TOTAL / (float(records_per_s) * 10_000) > 0.8 * (TOTAL - FREE) / RATE
    _consume(server, topic, name)


def _consume(bootstrap: str, topic: str, client_id: str) -> None:
    told: list[float] = []
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"g-{topic}",
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "throttle_cb": lambda event: told.append(event.throttle_time),
        }
    )
    consumer.subscribe([topic])
    size, began = 0, time.monotonic()
    while size < TOTAL and time.monotonic() - began < TIMEOUT_S:
        size += sum(len(message.value()) for message in consumer.consume(500, 0.5) if message.error() is None)
    took_s = time.monotonic() - began
    consumer.close()
    assert size == TOTAL
    assert took_s > 0.8 * (TOTAL - FREE) / RATE
    assert told


def test_users_have_quotas_and_no_credentials(cluster: servers.Cluster, topic: str) -> None:
    user, server = f"user-{topic}", cluster.bootstrap
    entity = ["--entity-type", "users", "--entity-name", user]
    done = run_tools(
        [
            configs(server, "--alter", "--add-config", "producer_byte_rate=1000000", *entity),
            configs(server, "--describe", "--entity-type", "users"),
            configs(server, "--alter", "--delete-config", "producer_byte_rate", *entity),
            configs(server, "--describe", "--entity-type", "users"),
        ],
        timeout_s=TIMEOUT_S,
    )
    assert [result.returncode for result in done] == [0, 0, 0, 0], done
    assert "producer_byte_rate=1000000.0" in done[1].stdout
    assert user not in done[3].stdout
