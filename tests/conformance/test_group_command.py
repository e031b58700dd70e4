"""`millstream group` and `cluster` beside Kafka's own tools, against our servers and Apache Kafka: the same facts, the same effects."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import servers
from commits import commit
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_tools import run_tool
from raw_share_groups import RawShareGroup
from wire_client import WireClient

from millstream.testing import Millstream
from millstream_wire.records import Record, encode_batch

TIMEOUT_S = 60
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where resets are remembered."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def run(at: str, *arguments: str, code: int = 0) -> str:
    command = [servers.MILLSTREAM, *arguments, "--bootstrap", at]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code == 1 else done.stdout


def asked(at: str, *arguments: str, code: int = 0) -> Any:
    return json.loads(run(at, *arguments, "--json", code=code))


def create(at: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": at})
    admin.create_topics([NewTopic(topic, 2)])[topic].result(TIMEOUT_S)


def committed(at: str, group: str) -> dict[int, int | None]:
    return {each["partition"]: each["committed"] for each in asked(at, "group", "lag", group)["partitions"]}


def kafkas_view(at: str, group: str) -> dict[int, tuple[int, int, int]]:
    """By partition what kafka-consumer-groups says: committed, end, lag."""
    done = run_tool("kafka-consumer-groups", ["--bootstrap-server", at, "--describe", "--group", group])
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{group} ")]
    return {int(row[2]): (int(row[3]), int(row[4]), int(row[5])) for row in rows}


@pytest.fixture
def group(anywhere: str, topic: str) -> str:
    """Ten records in each of two partitions; the group has read seven and four of them, and nobody is in it."""
    create(anywhere, topic)
    producer = Producer({"bootstrap.servers": anywhere})
    for number in range(20):
        producer.produce(topic, str(number).encode(), partition=number % 2)
    assert producer.flush(TIMEOUT_S) == 0
    group = f"g-{topic}"
    commit_alone(anywhere, group, TopicPartition(topic, 0, 7), TopicPartition(topic, 1, 4))
    return group


def commit_alone(at: str, group: str, *offsets: TopicPartition) -> None:
    """As a consumer that is no member."""
    consumer = Consumer({"bootstrap.servers": at, "group.id": group, "enable.auto.commit": False})
    commit(consumer, list(offsets))
    consumer.close()


@needs_java
def test_lag_is_what_kafkas_tool_says(anywhere: str, group: str) -> None:
    said = asked(anywhere, "group", "lag", group)
    assert said["lag"] == 9
    rows = {each["partition"]: (each["committed"], each["end"], each["lag"]) for each in said["partitions"]}
    assert rows == {0: (7, 10, 3), 1: (4, 10, 6)} == kafkas_view(anywhere, group)
    assert "lag of group" in run(anywhere, "group", "lag", group, "--max", "9")
    run(anywhere, "group", "lag", group, "--max", "8", code=4)


@needs_java
def test_a_reset_is_a_plan_until_it_is_executed_and_can_be_taken_back(anywhere: str, topic: str, group: str) -> None:
    reset = ["group", "reset", group, "--topic", topic, "--to", "-3"]
    planned = asked(anywhere, *reset)
    assert [(row["partition"], row["from"], row["to"]) for row in planned["partitions"]] == [(0, 7, 4), (1, 4, 1)]
    assert committed(anywhere, group) == {0: 7, 1: 4}
    assert asked(anywhere, *reset, "--execute")["executed"]
    assert kafkas_view(anywhere, group) == {0: (4, 10, 6), 1: (1, 10, 9)}
    assert committed(anywhere, group) == {0: 4, 1: 1}
    run(anywhere, "group", "undo", group, "--execute")
    assert kafkas_view(anywhere, group) == {0: (7, 10, 3), 1: (4, 10, 6)}
    assert "nothing is known here of a reset" in run(anywhere, "group", "undo", group, code=1)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("earliest", {0: 0, 1: 4}),
        ("latest", {0: 10, 1: 4}),
        ("5", {0: 5, 1: 4}),
        ("+2", {0: 9, 1: 4}),
        ("99", {0: 10, 1: 4}),
    ],
)
def test_where_a_group_can_be_sent(anywhere: str, topic: str, group: str, where: str, expected: dict[int, int]) -> None:
    run(anywhere, "group", "reset", group, "--topic", f"{topic}:0", "--to", where, "--execute")
    assert committed(anywhere, group) == expected


def test_a_time_is_its_first_record(anywhere: str, topic: str, group: str) -> None:
    run(anywhere, "group", "reset", group, "--all-topics", "--to", "2000-01-01T00:00:00+00:00", "--execute")
    assert committed(anywhere, group) == {0: 0, 1: 0}
    run(anywhere, "group", "reset", group, "--all-topics", "--to", "2100-01-01T00:00:00+00:00", "--execute")
    assert committed(anywhere, group) == {0: 10, 1: 10}


def test_an_undo_takes_back_what_was_never_committed_and_nothing_that_came_after(
    anywhere: str, topic: str, group: str
) -> None:
    fresh = f"{group}-fresh"
    reset = ["group", "reset", fresh, "--topic", topic, "--to", "3", "--execute"]
    run(anywhere, *reset)
    assert committed(anywhere, fresh) == {0: 3, 1: 3}
    commit_alone(anywhere, fresh, TopicPartition(topic, 1, 8))
    assert f"has gone on since the reset in {topic}-1" in run(anywhere, "group", "undo", fresh, "--execute", code=1)
    commit_alone(anywhere, fresh, TopicPartition(topic, 1, 3))
    run(anywhere, "group", "undo", fresh, "--execute")
    assert (
        fresh not in {each["group_id"] for each in asked(anywhere, "group", "list")} or committed(anywhere, fresh) == {}
    )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_is_in_a_group_and_that_it_cannot_be_moved_meanwhile(
    anywhere: str, topic: str, group: str, protocol: str
) -> None:
    config = {"bootstrap.servers": anywhere, "group.id": group, "group.protocol": protocol, "client.id": "till"}
    consumer = Consumer({**config, "enable.auto.commit": False})
    consumer.subscribe([topic])
    assert consumer.poll(TIMEOUT_S) is not None

    def assigned() -> None:
        described = asked(anywhere, "group", "describe", group)
        assert (described["type"], described["state"], described["lag"]) == (protocol, "Stable", 9)
        (member,) = described["members"]
        assert (member["client_id"], sorted(map(tuple, member["partitions"]))) == ("till", [(topic, 0), (topic, 1)])

    servers.eventually(assigned)
    assert group in run(anywhere, "group", "list", "--type", protocol, "--state", "stable")
    refused = run(anywhere, "group", "reset", group, "--all-topics", "--to", "earliest", "--execute", code=1)
    assert "has members (till): stop them first" in refused
    consumer.close()


def test_offsets_are_forgotten_and_groups_deleted(anywhere: str, topic: str, group: str) -> None:
    run(anywhere, "group", "forget", group, "--topic", topic)
    groups = {each["group_id"] for each in asked(anywhere, "group", "list")}
    assert group not in groups or committed(anywhere, group) == {}
    run(anywhere, "group", "reset", group, "--topic", topic, "--to", "1", "--execute")
    assert run(anywhere, "group", "delete", group) == f"deleted {group}\n"
    assert group not in {each["group_id"] for each in asked(anywhere, "group", "list")}
    assert "GROUP_ID_NOT_FOUND" in run(anywhere, "group", "describe", group, code=1)


def test_a_share_group_is_shown_and_moved(node: servers.ServerProcess, topic: str) -> None:
    raw = RawShareGroup(node.bootstrap, f"g-{topic}", topic, partitions=1)
    with WireClient(node.bootstrap) as client:
        records = [Record(offset=0, timestamp=1, key=None, value=b"x") for _ in range(5)]
        assert client.produce(topic, encode_batch(records)).error_code == 0

    def is_given_the_partition() -> None:
        assert raw.share_join("a").assignment.topic_partitions

    servers.eventually(is_given_the_partition)
    described = asked(node.bootstrap, "group", "describe", f"g-{topic}")
    assert described["type"] == "share"
    assert [each["member_id"] for each in described["members"]] == ["a"]
    raw.share_heartbeat("a", -1)
    run(node.bootstrap, "group", "reset", f"g-{topic}", "--topic", topic, "--to", "2", "--execute")
    said = asked(node.bootstrap, "group", "lag", f"g-{topic}")
    assert (said["lag"], said["partitions"][0]["committed"]) == (3, 2)


def test_what_a_cluster_is_made_of(anywhere: str, topic: str) -> None:
    create(anywhere, topic)
    info = asked(anywhere, "cluster", "info")
    metadata = AdminClient({"bootstrap.servers": anywhere}).list_topics(timeout=TIMEOUT_S)
    assert info["cluster_id"] == metadata.cluster_id
    brokers = {each["node_id"]: each["address"] for each in info["brokers"]}
    assert brokers.items() <= {id: f"{each.host}:{each.port}" for id, each in metadata.brokers.items()}.items()
    assert info["partitions"] == sum(each["leaders"] for each in info["brokers"])
    assert info["features"]["metadata.version"] > 0


@pytest.mark.millstream(brokers=3)
def test_a_cluster_is_well_until_a_broker_is_gone(millstream: Millstream) -> None:
    at = millstream.bootstrap_servers
    millstream.create_topic("orders", replication_factor=3)
    millstream.create_topic("lone", replication_factor=1, configs={"min.insync.replicas": "1"})
    assert asked(at, "cluster", "health") == {"healthy": True, "findings": []}
    lone = millstream.leader_of("lone")
    lone.kill()
    others = ",".join(each for each in at.split(",") if each != at.split(",")[lone.number - 1])

    def found() -> None:
        findings = {each["what"]: each["where"] for each in asked(others, "cluster", "health", code=4)["findings"]}
        assert findings["brokers that do not answer"] == [f"broker {lone.number}"]
        assert findings["partitions without a leader"] == ["lone-0"]
        assert "orders-0" in findings["partitions with replicas that are not in sync"]

    servers.eventually(found)
    assert "they can be neither read nor written" in run(others, "cluster", "health", code=4)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_are_completed(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        subprocess.run([servers.MILLSTREAM, "completion", shell], capture_output=True, text=True, check=True).stdout
    )
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    tries = {
        "bash": f"source {script}; COMP_WORDS=(millstream group re); COMP_CWORD=2; _millstream; echo ${{COMPREPLY[@]}}",
        "zsh": f"compdef() {{ }}; source {script}; words=(millstream group re); CURRENT=3; compadd() {{ echo ${{@:2}} }}; _millstream",
        "fish": f"source {script}; complete -C 'millstream group re'",
    }
    completed = subprocess.run(
        [shell, "-c", tries[shell]], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    )
    assert "reset" in completed.stdout.split()
    assert completed.stderr == ""
