"""Apache Kafka's own command-line tools: the Java client, as most people meet it."""

import re
import shutil
import subprocess

import pytest
from kafka_tools import run_tool, tool_command

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

TIMEOUT_S = 90


def tool(name: str, bootstrap: str, *arguments: str, stdin: str | None = None) -> str:
    result = run_tool(name, ["--bootstrap-server", bootstrap, *arguments], stdin=stdin, timeout_s=TIMEOUT_S)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_topics_from_creation_to_deletion(bootstrap: str, topic: str) -> None:
    tool("kafka-topics", bootstrap, "--create", "--topic", topic, "--partitions", "4", "--config", "retention.ms=60000")
    assert topic in tool("kafka-topics", bootstrap, "--list").split()
    described = tool("kafka-topics", bootstrap, "--describe", "--topic", topic)
    assert "PartitionCount: 4" in described
    assert "retention.ms=60000" in described
    assert len(re.findall(r"Leader: \d", described)) == 4
    tool("kafka-topics", bootstrap, "--alter", "--topic", topic, "--partitions", "6")
    assert "PartitionCount: 6" in tool("kafka-topics", bootstrap, "--describe", "--topic", topic)
    tool("kafka-topics", bootstrap, "--delete", "--topic", topic)
    assert topic not in tool("kafka-topics", bootstrap, "--list").split()


def test_console_producer_and_consumer(bootstrap: str, topic: str) -> None:
    tool("kafka-topics", bootstrap, "--create", "--topic", topic, "--partitions", "2")
    lines = "".join(f"line {n}\n" for n in range(200))
    tool("kafka-console-producer", bootstrap, "--topic", topic, stdin=lines)
    options = ["--topic", topic, "--from-beginning", "--max-messages", "200", "--timeout-ms", "30000"]
    consumed = tool("kafka-console-consumer", bootstrap, *options, "--group", f"g-{topic}")
    assert sorted(consumed.splitlines()) == sorted(lines.splitlines())
    listed = tool("kafka-consumer-groups", bootstrap, "--list")
    assert f"g-{topic}" in listed.split()
    described = tool("kafka-consumer-groups", bootstrap, "--describe", "--group", f"g-{topic}")
    lags = [line.split()[5] for line in described.splitlines() if line.startswith(f"g-{topic}")]
    assert set(lags) == {"0"}  # a partition that got no record may have no line


def test_offsets_are_reset_and_groups_deleted(bootstrap: str, topic: str) -> None:
    group = f"g-{topic}"
    tool("kafka-topics", bootstrap, "--create", "--topic", topic, "--partitions", "1")
    tool("kafka-console-producer", bootstrap, "--topic", topic, stdin="a\nb\nc\n")
    consume = ["--topic", topic, "--group", group, "--timeout-ms", "30000"]
    tool("kafka-console-consumer", bootstrap, *consume, "--from-beginning", "--max-messages", "3")
    reset = ["--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "1", "--execute"]
    tool("kafka-consumer-groups", bootstrap, *reset)
    again = tool("kafka-console-consumer", bootstrap, *consume, "--max-messages", "2")
    assert again.splitlines() == ["b", "c"]
    assert "Empty" in tool("kafka-consumer-groups", bootstrap, "--describe", "--group", group, "--state")
    tool("kafka-consumer-groups", bootstrap, "--delete", "--group", group)
    assert group not in tool("kafka-consumer-groups", bootstrap, "--list").split()


def test_configs_are_described_and_altered(bootstrap: str, topic: str) -> None:
    tool("kafka-topics", bootstrap, "--create", "--topic", topic, "--partitions", "1")
    entity = ["--entity-type", "topics", "--entity-name", topic]
    tool("kafka-configs", bootstrap, "--alter", *entity, "--add-config", "retention.ms=12345,cleanup.policy=compact")
    described = tool("kafka-configs", bootstrap, "--describe", *entity)
    assert "retention.ms=12345" in described
    tool("kafka-configs", bootstrap, "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms=12345" not in tool("kafka-configs", bootstrap, "--describe", *entity)
    everything = tool("kafka-configs", bootstrap, "--describe", *entity, "--all")
    assert "segment.bytes=1073741824" in everything


def test_what_tools_ask_first(bootstrap: str, topic: str) -> None:
    versions = tool("kafka-broker-api-versions", bootstrap)
    assert "Produce(0): 0 to 13" in versions
    tool("kafka-topics", bootstrap, "--create", "--topic", topic, "--partitions", "1")
    tool("kafka-console-producer", bootstrap, "--topic", topic, stdin="a\nb\n")
    assert f"{topic}:0:2" in tool("kafka-get-offsets", bootstrap, "--topic", topic)


def test_the_console_consumer_ends_by_itself_on_an_idle_topic(bootstrap: str, topic: str) -> None:
    tool("kafka-topics", bootstrap, "--create", "--topic", topic, "--partitions", "1")
    command = tool_command(
        "kafka-console-consumer", ["--bootstrap-server", bootstrap, "--topic", topic, "--timeout-ms", "3000"]
    )
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert "Processed a total of 0 messages" in result.stdout + result.stderr
