"""`millstream broker` and `check` beside Kafka's own tools: the same facts, the same effects."""

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import servers
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_tools import run_tool

from millstream.testing import Millstream

TIMEOUT_S = 60
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")


def run(at: str, *arguments: str, code: int = 0) -> str:
    command = [servers.MILLSTREAM, *arguments, "--bootstrap", at]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def asked(at: str, *arguments: str, code: int = 0) -> Any:
    return json.loads(run(at, *arguments, "--json", code=code))


def tool(name: str, at: str, *arguments: str) -> str:
    done = run_tool(name, ["--bootstrap-server", at, *arguments])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_java
def test_brokers_and_their_disks(anywhere: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": anywhere})
    admin.create_topics([NewTopic(topic, 4)])[topic].result(TIMEOUT_S)
    brokers = asked(anywhere, "broker", "list")
    assert {str(each["node_id"]) for each in brokers} == brokers_by_kafka(anywhere)

    def disks_are_kafkas() -> None:
        shown = tool("kafka-log-dirs", anywhere, "--describe").splitlines()
        kafkas = json.loads(next(line for line in shown if line.startswith("{")))
        ours = asked(anywhere, "broker", "disks")
        assert {(each["broker"], each["path"]): (each["replicas"], each["used_bytes"]) for each in ours} == {
            (broker["broker"], directory["logDir"]): (
                len(directory["partitions"]),
                sum(each["size"] for each in directory["partitions"]),
            )
            for broker in kafkas["brokers"]
            for directory in broker["logDirs"]
        }
        assert all(each["total_bytes"] >= each["usable_bytes"] > 0 for each in ours)

    servers.eventually(disks_are_kafkas)
    assert "online" in run(anywhere, "broker", "disks")


@needs_java
@pytest.mark.millstream(brokers=3)
def test_a_broker_is_drained_and_leads_again(millstream: Millstream) -> None:
    at = millstream.bootstrap_servers
    millstream.create_topic("orders", partitions=6, replication_factor=2)
    millstream.produce("orders", *[str(number) for number in range(60)])
    plan = asked(at, "broker", "drain", "3")
    assert not plan["executed"]
    assert {each["topic"] for each in plan["partitions"]} >= {"orders"}
    assert all(3 in each["from"] and 3 not in each["to"] for each in plan["partitions"])
    assert replicas(at) > 0
    run(at, "broker", "drain", "3", "--execute", "--wait")
    assert replicas(at) == 0
    shown = tool("kafka-configs", at, "--describe", "--entity-type", "brokers", "--entity-name", "3")
    assert "cordoned.log.dirs=*" in shown
    servers.eventually(
        lambda: expect({each["broker"] for each in asked(at, "broker", "disks") if each["is_cordoned"]} == {3})
    )
    millstream.create_topic("later", partitions=6, replication_factor=2)
    assert replicas(at) == 0
    assert sorted(int(value or b"-1") for value in millstream.values("orders")) == list(range(60))
    assert "no other broker may take" in run(at, "broker", "drain", "2", code=1)
    run(at, "broker", "uncordon", "3")
    servers.eventually(lambda: expect(not any(each["is_cordoned"] for each in asked(at, "broker", "disks"))))
    assert "there is no broker 9" in run(at, "broker", "cordon", "9", code=1)


@needs_java
@pytest.mark.millstream(brokers=3, settings={"auto.leader.rebalance.enable": "false"})
def test_preferred_leaders_lead_again(millstream: Millstream) -> None:
    at = millstream.bootstrap_servers
    millstream.create_topic("orders", partitions=6, replication_factor=3)
    assert asked(at, "broker", "leaders") == []
    gone = millstream.leader_of("orders")
    gone.stop()
    gone.start()

    def another_leads() -> None:
        others = asked(at, "broker", "leaders")
        assert others
        assert {each["preferred"] for each in others} == {gone.number}

    servers.eventually(another_leads)
    servers.eventually(lambda: run(at, "cluster", "health"))
    assert "orders-0" in run(at, "broker", "leaders", "--execute")
    servers.eventually(lambda: expect(asked(at, "broker", "leaders") == []))
    shown = tool("kafka-topics", at, "--describe", "--topic", "orders")
    for line in shown.splitlines():
        if "Replicas:" in line:
            assert line.split("Leader:")[1].split()[0] == line.split("Replicas:")[1].split(",")[0].strip()


def brokers_by_kafka(at: str) -> set[str]:
    done = run_tool("kafka-cluster", ["list-endpoints", "--bootstrap-server", at])
    assert done.returncode == 0, done.stdout + done.stderr
    return {line.split()[0] for line in done.stdout.splitlines() if line[:1].isdigit()}


def test_replicas_go_to_brokers_only(cluster: servers.Cluster, topic: str) -> None:
    """A coordinator that is a process of its own is shown to clients as a node, and holds nothing."""
    at = cluster.bootstrap
    admin = AdminClient({"bootstrap.servers": at})
    admin.create_topics([NewTopic(topic, 6, replication_factor=1)])[topic].result(TIMEOUT_S)
    plan = asked(at, "topic", "reassign", topic, "--replication-factor", "3")
    assert {broker for each in plan["partitions"] for broker in each["to"]} == {1, 2, 3}


def findings(at: str, *, code: int = 4) -> dict[str, list[str]]:
    return {
        each["what"].split(",")[0].split(":")[0]: each["where"] for each in asked(at, "check", code=code)["findings"]
    }


@needs_java
def test_what_is_not_fit_for_production(anywhere: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": anywhere})
    configs = {"unclean.leader.election.enable": "true", "min.insync.replicas": "2"}
    admin.create_topics([NewTopic(topic, 1, replication_factor=1, config=configs)])[topic].result(TIMEOUT_S)
    alone = NewTopic(f"{topic}-alone", 1, replication_factor=1, config={"min.insync.replicas": "1"})
    admin.create_topics([alone])[alone.topic].result(TIMEOUT_S)

    def found() -> None:
        told = defaultdict(list, findings(anywhere))
        assert topic in told["topics with fewer replicas than min.insync.replicas"]
        assert f"{topic}-alone" in told["topics with one replica"]
        assert topic in told["topics that may elect a leader without all that was acknowledged"]
        assert told["no authorizer"] == ["the cluster"]
        assert any(each.startswith("PLAINTEXT of broker ") for each in told["listeners without encryption"])
        assert told["brokers that make a topic for every misspelt name"]
        assert ("fewer than three brokers" in told) == (len(brokers_by_kafka(anywhere)) < 3)

    servers.eventually(found)
    assert "millstream topic reassign TOPIC" in run(anywhere, "check", code=4)


@pytest.mark.millstream(
    brokers=3,
    tls=True,
    users={"admin": "secret"},
    settings={
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "auto.create.topics.enable": "false",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
    },
)
def test_what_is_fit_for_production(millstream: Millstream, tmp_path: Path) -> None:
    properties = tmp_path / "admin.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in millstream.client_properties("admin").items()))
    at = ["--command-config", str(properties), "--json"]
    millstream.create_topic("orders", replication_factor=3)
    said = json.loads(run(millstream.bootstrap_servers, "check", *at, code=4))
    # All that this cluster lacks: its nodes talk to each other on loopback, in the clear.
    assert [each["where"] for each in said["findings"]] == [[f"NODES of broker {number}" for number in (1, 2, 3)]]


def replicas(at: str) -> int:
    """How many broker 3 has."""
    (found,) = [each["replicas"] for each in asked(at, "broker", "list") if each["node_id"] == 3]
    return int(found)


def expect(holds: bool) -> None:
    assert holds
