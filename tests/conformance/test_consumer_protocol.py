"""Consumer groups by the protocol of KIP-848, with librdkafka, the Java client and Kafka's own tools."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewPartitions
from kafka_tools import run_tool, tool_command
from servers import ServerProcess, eventually, node
from test_confluent import create, produce

TIMEOUT_S = 60
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

MEMBER = """
import sys
from confluent_kafka import Consumer
reader = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "group.protocol": "consumer"})
reader.subscribe([sys.argv[3]])
while True:
    reader.poll(0.1)
    print(len(reader.assignment()), flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """With heartbeats often enough for a test."""
    settings = (
        "group.consumer.heartbeat.interval.ms=300",
        "group.consumer.session.timeout.ms=4000",
        "group.consumer.assignment.interval.ms=100",
        "group.initial.rebalance.delay.ms=0",
        "offsets.topic.num.partitions=5",
    )
    with node(tmp_path_factory.mktemp("consumer-protocol"), *settings) as running:
        yield running


@pytest.fixture
def bootstrap(server: ServerProcess) -> str:
    return server.bootstrap


def member(bootstrap: str, group: str, **config: object) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **config,
        }
    )


def owned(reader: Consumer) -> set[tuple[str, int]]:
    return {(partition.topic, partition.partition) for partition in reader.assignment()}


def settled(readers: Sequence[Consumer], sizes: Sequence[int]) -> None:
    """All the readers have as many partitions as they should, none of them the same."""

    def check() -> None:
        for reader in readers:
            reader.poll(0.05)
        has = [owned(reader) for reader in readers]
        assert [len(each) for each in has] == list(sizes) or sorted(map(len, has)) == sorted(sizes), has
        assert len(set().union(*has)) == sum(sizes), has

    eventually(check, within_s=TIMEOUT_S, every_s=0.05)


def read(readers: Sequence[Consumer], count: int) -> list[str]:
    values: list[str] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(values) < count and time.monotonic() < deadline:
        for reader in readers:
            for message in reader.consume(100, 0.05):
                assert message.error() is None, message.error()
                values.append(message.value().decode())
    return values


def close(readers: Sequence[Consumer]) -> None:
    for reader in readers:
        reader.close()


def java(tool: str, bootstrap: str, *arguments: str) -> str:
    result = run_tool(tool, ["--bootstrap-server", bootstrap, *arguments], timeout_s=90)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_three_members_split_the_partitions_and_outlive_one_that_is_killed(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=6)
    group = f"g-{topic}"
    readers = [member(bootstrap, group) for _ in range(2)]
    for reader in readers:
        reader.subscribe([topic])
    settled(readers, [3, 3])
    command = [sys.executable, "-c", MEMBER, bootstrap, group, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as third:
        settled(readers, [2, 2])
        assert third.stdout is not None
        assert any(line.strip() == "2" for line in third.stdout)
        third.kill()
    settled(readers, [3, 3])
    values = [f"v{n}" for n in range(200)]
    produce(bootstrap, topic, values)
    assert sorted(read(readers, 200)) == sorted(values)
    for reader in readers:
        reader.commit(asynchronous=False)
    close(readers)
    again = member(bootstrap, group)
    again.subscribe([topic])
    settled([again], [6])
    produce(bootstrap, topic, ["later"])
    assert read([again], 1) == ["later"], "from the committed offsets on"
    again.close()


def test_a_static_member_restarts_without_disturbing_the_others(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=4)
    group = f"g-{topic}"
    revoked: list[object] = []
    other = member(bootstrap, group)
    other.subscribe([topic], on_revoke=lambda _, partitions: revoked.append(partitions))
    static = member(bootstrap, group, **{"group.instance.id": "one"})
    static.subscribe([topic])
    settled([other, static], [2, 2])
    had, revoked[:] = owned(static), []
    static.close()
    back = member(bootstrap, group, **{"group.instance.id": "one"})
    back.subscribe([topic])
    settled([other, back], [2, 2])
    assert owned(back) == had
    assert revoked == []
    close([other, back])


def test_a_regular_expression_finds_topics_as_they_come(bootstrap: str, topic: str) -> None:
    create(bootstrap, f"{topic}-a", partitions=2)
    reader = member(bootstrap, f"g-{topic}")
    reader.subscribe([f"^{topic}-[a-z]$"])
    settled([reader], [2])
    create(bootstrap, f"{topic}-b", partitions=3)
    create(bootstrap, f"{topic}-1", partitions=3)
    settled([reader], [5])
    produce(bootstrap, f"{topic}-b", ["x"])
    assert read([reader], 1) == ["x"]
    reader.close()


def test_a_group_goes_from_one_protocol_to_the_other_and_back_when_empty(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=2)
    for turn, protocol in enumerate(("classic", "consumer", "classic")):
        reader = member(bootstrap, f"g-{topic}", **{"group.protocol": protocol})
        reader.subscribe([topic])
        produce(bootstrap, topic, [f"{turn}-{n}" for n in range(10)])
        assert sorted(read([reader], 10)) == [f"{turn}-{n}" for n in range(10)], "each goes on where the last ended"
        reader.commit(asynchronous=False)
        reader.close()


def test_every_record_is_read_under_churn(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=6)
    group = f"g-{topic}"
    seen: set[str] = set()
    produced: list[str] = []
    classic = member(bootstrap, f"c-{topic}", **{"group.protocol": "classic"})
    classic.subscribe([topic])
    readers: list[Consumer] = []
    for burst in range(8):
        values = [f"{burst}-{n}" for n in range(50)]
        produce(bootstrap, topic, values)
        produced += values
        if burst % 3 == 2:
            readers.pop(0).close()
        else:
            readers.append(member(bootstrap, group, **{"enable.auto.commit": True, "auto.commit.interval.ms": 100}))
            readers[-1].subscribe([topic])
        for reader in readers:
            seen.update(message.value().decode() for message in reader.consume(50, 0.2))
    deadline = time.monotonic() + TIMEOUT_S
    while len(seen) < len(produced) and time.monotonic() < deadline:
        for reader in readers:
            seen.update(message.value().decode() for message in reader.consume(100, 0.05))
    assert seen == set(produced)
    assert sorted(read([classic], len(produced))) == sorted(produced), "a classic group beside it reads them too"
    close([*readers, classic])


def test_partitions_added_to_a_topic_are_assigned(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=1)
    readers = [member(bootstrap, f"g-{topic}") for _ in range(2)]
    for reader in readers:
        reader.subscribe([topic])
    settled(readers, [1, 0])
    admin = AdminClient({"bootstrap.servers": bootstrap})  # has to outlive its answer
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(TIMEOUT_S)
    settled(readers, [2, 2])
    close(readers)


def test_the_coordinator_killed_goes_on_where_it_was(fresh: Path, topic: str) -> None:
    settings = ("group.consumer.heartbeat.interval.ms=300", "offsets.topic.num.partitions=2")
    with node(fresh, *settings) as running:
        create(running.bootstrap, topic, partitions=4)
        readers = [member(running.bootstrap, "g") for _ in range(2)]
        for reader in readers:
            reader.subscribe([topic])
        settled(readers, [2, 2])
        had = [owned(reader) for reader in readers]
        running.kill()
        running.start()
        settled(readers, [2, 2])
        assert [owned(reader) for reader in readers] == had
        produce(running.bootstrap, topic, [f"v{n}" for n in range(40)])
        assert len(read(readers, 40)) == 40
        close(readers)


@needs_java
def test_java_consumes_and_its_tools_describe(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=4)
    group = f"g-{topic}"
    values = [f"v{n}" for n in range(100)]
    produce(bootstrap, topic, values)
    consume = ["--topic", topic, "--group", group, "--from-beginning", "--timeout-ms", "30000"]
    consume += ["--command-property", "group.protocol=consumer"]
    assert sorted(java("kafka-console-consumer", bootstrap, *consume, "--max-messages", "100").split()) == sorted(
        values
    )
    described = java("kafka-consumer-groups", bootstrap, "--describe", "--group", group)
    assert sum(int(line.split()[5]) for line in described.splitlines() if line.startswith(group)) == 0
    listed = java("kafka-groups", bootstrap, "--list", "--group-type", "consumer")
    assert [line.split()[1:] for line in listed.splitlines() if line.startswith(group)] == [["Consumer", "consumer"]]
    reader = member(bootstrap, group)
    reader.subscribe([topic])
    settled([reader], [4])
    members = java("kafka-consumer-groups", bootstrap, "--describe", "--group", group, "--members", "--verbose")
    assert f"{topic}:0,1,2,3" in members
    state = java("kafka-consumer-groups", bootstrap, "--describe", "--group", group, "--state")
    assert "uniform" in state
    assert "Stable" in state
    reader.close()
    assert "Empty" in java("kafka-consumer-groups", bootstrap, "--describe", "--group", group, "--state")
    java("kafka-consumer-groups", bootstrap, "--delete", "--group", group)
    assert group not in java("kafka-consumer-groups", bootstrap, "--list").split()
    features = java("kafka-features", bootstrap, "describe")
    assert "group.version" in features


@needs_java
def test_java_and_librdkafka_share_a_group(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, partitions=4)
    group = f"g-{topic}"
    reader = member(bootstrap, group)
    reader.subscribe([topic])
    settled([reader], [4])
    options = ["--bootstrap-server", bootstrap, "--topic", topic, "--group", group, "--from-beginning"]
    command = tool_command("kafka-console-consumer", [*options, "--command-property", "group.protocol=consumer"])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        settled([reader], [2])
        produce(bootstrap, topic, [f"v{n}" for n in range(100)])
        mine = read([reader], 1)
        assert other.stdout is not None
        theirs = [other.stdout.readline().strip()]
        eventually(lambda: _all_read(reader, mine, 40))
        other.kill()
        theirs += other.stdout.read().split()
    assert not set(mine) & set(theirs)
    settled([reader], [4])
    reader.close()


def _all_read(reader: Consumer, values: list[str], least: int) -> None:
    values += [message.value().decode() for message in reader.consume(100, 0.1)]
    assert len(values) >= least
