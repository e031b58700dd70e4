"""`millstream acl`, `user`, `quota`, `transaction` and `topic reassign` beside Kafka's own tools: the same facts, the same effects."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import servers
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_tools import run_tool

from millstream.testing import Millstream

TIMEOUT_S = 60
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
closed = pytest.mark.millstream(
    users={"admin": "secret", "alice": "apples"},
    settings={
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
    },
)


def run(at: list[str], *arguments: str, code: int = 0, stdin: str = "") -> str:
    command = [servers.MILLSTREAM, *arguments, *at]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code else done.stdout


def asked(at: list[str], *arguments: str) -> Any:
    return json.loads(run(at, *arguments, "--json"))


def tool(name: str, bootstrap: str, *arguments: str, config: Path | None = None) -> str:
    more = ["--command-config", str(config)] if config is not None else []
    done = run_tool(name, ["--bootstrap-server", bootstrap, *more, *arguments])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def admin(millstream: Millstream, tmp_path: Path) -> Path:
    """The super user's properties."""
    path = tmp_path / "admin.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in millstream.client_properties("admin").items()))
    return path


def writes(cluster: Millstream, user: str, topic: str) -> bool:
    errors = []
    producer = Producer({**cluster.librdkafka(user), "message.timeout.ms": 5000})
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(TIMEOUT_S)
    return errors == [None]


@needs_java
@closed
def test_acls(millstream: Millstream, admin: Path) -> None:
    at = ["--bootstrap", millstream.bootstrap_servers, "--command-config", str(admin)]
    millstream.create_topic("orders")
    assert not writes(millstream, "alice", "orders")
    run(at, "acl", "create", "alice", "write", "describe", "--topic", "ord", "--prefixed")
    servers.eventually(lambda: expect(writes(millstream, "alice", "orders")))
    shown = tool("kafka-acls", millstream.bootstrap_servers, "--list", config=admin)
    assert "resourceType=TOPIC, name=ord, patternType=PREFIXED" in shown
    assert "principal=User:alice, host=*, operation=WRITE, permissionType=ALLOW" in shown
    tool(
        "kafka-acls",
        millstream.bootstrap_servers,
        "--add",
        "--deny-principal",
        "User:bob",
        "--group",
        "g",
        "--operation",
        "Read",
        config=admin,
    )
    listed = asked(at, "acl", "list")
    assert {
        (each["principal"], each["permission"], each["operation"], each["resource"], each["name"]) for each in listed
    } == {
        ("User:alice", "allow", "write", "topic", "ord"),
        ("User:alice", "allow", "describe", "topic", "ord"),
        ("User:bob", "deny", "read", "group", "g"),
    }
    assert "--execute deletes these" in run(at, "acl", "delete", "--principal", "alice")
    assert len(asked(at, "acl", "list")) == 3
    run(at, "acl", "delete", "--principal", "alice", "--execute")
    assert [each["principal"] for each in asked(at, "acl", "list")] == ["User:bob"]
    assert "no operation: 'fly'" in run(at, "acl", "create", "alice", "fly", "--topic", "t", code=1)


@needs_java
@closed
def test_users(millstream: Millstream, admin: Path, tmp_path: Path) -> None:
    at = ["--bootstrap", millstream.bootstrap_servers, "--command-config", str(admin)]
    run(at, "user", "set", "carol", "--mechanism", "SCRAM-SHA-256", stdin="figs\n")
    shown = tool(
        "kafka-configs",
        millstream.bootstrap_servers,
        "--describe",
        "--entity-type",
        "users",
        "--entity-name",
        "carol",
        config=admin,
    )
    assert "SCRAM-SHA-256=iterations=4096" in shown
    config = {**millstream.librdkafka("alice"), "sasl.username": "carol", "sasl.password": "figs"}

    def carol_logs_in() -> None:
        try:
            assert AdminClient(dict(config)).list_topics(timeout=5) is not None
        except KafkaException as error:
            raise AssertionError(str(error)) from error

    servers.eventually(carol_logs_in)
    users = {(each["name"], each["mechanism"]) for each in asked(at, "user", "list")}
    assert users == {(name, "SCRAM-SHA-256") for name in ("admin", "alice", "carol")}
    secret = tmp_path / "password"
    secret.write_text("plums\n")
    run(at, "user", "set", "carol", "--password", f"@{secret}")
    assert ("carol", "SCRAM-SHA-512") in {(each["name"], each["mechanism"]) for each in asked(at, "user", "list")}
    run(at, "user", "delete", "carol")
    run(at, "user", "delete", "carol", "--mechanism", "SCRAM-SHA-256")
    assert "carol" not in {each["name"] for each in asked(at, "user", "list")}
    assert "list of processes" in run(at, "user", "set", "dave", "--password", "seen", code=1)


@needs_java
def test_quotas(anywhere: str, topic: str) -> None:
    at = ["--bootstrap", anywhere]
    run(at, "quota", "set", "--user", topic, "producer_byte_rate=1048576", "consumer_byte_rate=2e6")
    shown = tool("kafka-configs", anywhere, "--describe", "--entity-type", "users", "--entity-name", topic)
    assert "producer_byte_rate=1048576.0" in shown
    tool(
        "kafka-configs",
        anywhere,
        "--alter",
        "--entity-type",
        "clients",
        "--entity-name",
        topic,
        "--add-config",
        "request_percentage=50",
    )
    assert asked(at, "quota", "list", "--client-id", topic) == [
        {"entity": {"client-id": topic}, "values": {"request_percentage": 50.0}}
    ]
    run(at, "quota", "delete", "--user", topic, "consumer_byte_rate")
    assert asked(at, "quota", "list", "--user", topic) == [
        {"entity": {"user": topic}, "values": {"producer_byte_rate": 1048576.0}}
    ]
    run(at, "quota", "delete", "--user", topic, "producer_byte_rate")
    run(at, "quota", "delete", "--client-id", topic, "request_percentage")
    assert asked(at, "quota", "list", "--user", topic) == []


@needs_java
def test_transactions(anywhere: str, topic: str) -> None:
    at = ["--bootstrap", anywhere]
    create(anywhere, topic, 1)
    producer = Producer({"bootstrap.servers": anywhere, "transactional.id": topic})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(TIMEOUT_S) == 0
    assert topic in {each["transactional_id"] for each in asked(at, "transaction", "list", "--state", "ongoing")}
    described = asked(at, "transaction", "describe", topic)
    assert (described["state"], described["partitions"]) == ("Ongoing", [[topic, 0]])
    shown = tool("kafka-transactions", anywhere, "describe", "--transactional-id", topic).splitlines()
    kafkas = dict(zip(shown[0].split("\t"), (each.strip() for each in shown[1].split("\t")), strict=True))
    kafkas = {name.strip(): value for name, value in kafkas.items()}
    assert kafkas["ProducerId"] == str(described["producer_id"])
    assert kafkas["TransactionState"] == described["state"]
    run(at, "transaction", "abort", topic)
    with pytest.raises(KafkaException):
        producer.commit_transaction(TIMEOUT_S)
    read = run(at, "consume", topic, "--committed-only", "--values")
    assert read == ""
    assert "TRANSACTIONAL_ID_NOT_FOUND" in run(at, "transaction", "abort", f"{topic}-unknown", code=1)


@needs_java
@pytest.mark.millstream(brokers=3)
def test_replicas_move_by_a_plan(millstream: Millstream) -> None:
    at = ["--bootstrap", millstream.bootstrap_servers]
    millstream.create_topic("orders", partitions=6, replication_factor=2)
    millstream.produce("orders", *[str(number) for number in range(60)])
    before = replicas(at)
    plan = asked(at, "topic", "reassign", "orders", "--brokers", "1,2")
    assert not plan["executed"]
    assert replicas(at) == before
    run(at, "topic", "reassign", "orders", "--brokers", "1,2", "--execute", "--wait")
    assert {tuple(sorted(each)) for each in replicas(at).values()} == {(1, 2)}
    shown = tool("kafka-topics", millstream.bootstrap_servers, "--describe", "--topic", "orders")
    assert "3" not in {
        one
        for line in shown.splitlines()
        if "Replicas:" in line
        for one in line.split("Replicas:")[1].split()[0].split(",")
    }
    run(at, "topic", "reassign", "orders", "--replication-factor", "3", "--execute", "--wait")
    assert {len(each) for each in replicas(at).values()} == {3}
    assert run(at, "topic", "reassign", "orders", "--replication-factor", "3") == "everything is where it is wanted\n"
    assert asked(at, "topic", "moves") == []
    assert run(at, "topic", "moves", "--cancel") == "cancelled nothing\n"
    assert sorted(int(value or b"-1") for value in millstream.values("orders")) == list(range(60))
    assert "4 replicas need as many brokers" in run(
        at, "topic", "reassign", "orders", "--replication-factor", "4", code=1
    )


def replicas(at: list[str]) -> dict[int, list[int]]:
    return {each["partition"]: each["replicas"] for each in asked(at, "topic", "describe", "orders")["partitions"]}


def create(at: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": at})
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(TIMEOUT_S)


def expect(holds: bool) -> None:
    assert holds
