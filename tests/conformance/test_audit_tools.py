"""What the audit log says of Kafka's own tools, which are how people change things; each of them here says what it does in a line."""

import json
import re
from pathlib import Path

import pytest
import servers
from commits import commit
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka_tools import KafkaUnavailable, kafka_libs, run_tools

TIMEOUT_S = 60
PASSWORD = "Secret-of-bob-44d1"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ACL = ["--allow-principal", "User:bob", "--allow-host", "10.0.0.0/8", "--operation", "Read", "--topic", "t"]


def use_a_group(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce("t", str(number), partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition("t", 0, 0)])
    commit(consumer, [TopicPartition("t", 0, 5)])
    consumer.close()


def changes(log: Path) -> list[str]:
    """The lines of administration, from the API on, of who asked as an anonymous client."""
    who = r"change principal=User:ANONYMOUS host=127\.0\.0\.1 api=(.*)"
    return re.findall(who, log.read_text())


def test_each_tool_that_changes_something_is_said(tmp_path: Path) -> None:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    partition = {"topic": "t", "partition": 0}
    (tmp_path / "delete").write_text(json.dumps({"partitions": [{**partition, "offset": 3}], "version": 1}))
    (tmp_path / "move").write_text(json.dumps({"partitions": [{**partition, "replicas": [0]}], "version": 1}))
    (tmp_path / "elect").write_text(json.dumps({"partitions": [partition]}))
    settings = (f"authorizer.class.name={STANDARD_AUTHORIZER}", "super.users=User:ANONYMOUS")
    with servers.node(tmp_path, *settings) as node:
        at = ["--bootstrap-server", node.bootstrap]
        configs, group = ("kafka-configs", [*at, "--alter"]), ("kafka-consumer-groups", [*at, "--group", "g"])

        def alter(kind: str, name: str, config: str, how: str = "--add-config") -> tuple[str, list[str]]:
            return configs[0], [*configs[1], "--entity-type", kind, "--entity-name", name, how, config]

        first = run_tools(
            [
                ("kafka-topics", [*at, "--create", "--topic", "t", "--partitions", "1"]),
                ("kafka-topics", [*at, "--alter", "--topic", "t", "--partitions", "2"]),
            ]
        )
        use_a_group(node.bootstrap)
        results = first + run_tools(
            [
                alter("topics", "t", "retention.ms=600000"),
                alter("topics", "t", "retention.ms", "--delete-config"),
                alter("users", "bob", f"SCRAM-SHA-256=[iterations=4096,password={PASSWORD}]"),
                alter("users", "bob", "producer_byte_rate=1024"),
                alter("broker-loggers", "0", "root=INFO"),
                ("kafka-acls", [*at, "--add", *ACL]),
                ("kafka-acls", [*at, "--remove", "--force", *ACL]),
                (group[0], [*group[1], "--reset-offsets", "--to-earliest", "--execute", "--topic", "t:0"]),
                (group[0], [*group[1], "--delete-offsets", "--topic", "t:0"]),
                (group[0], [*group[1], "--delete"]),
                ("kafka-delete-records", [*at, "--offset-json-file", str(tmp_path / "delete")]),
                ("kafka-leader-election", [*at, "--election-type", "preferred", "--path-to-json-file", str(tmp_path / "elect")]),
                ("kafka-reassign-partitions", [*at, "--execute", "--reassignment-json-file", str(tmp_path / "move")]),
                ("kafka-features", [*at, "downgrade", "--feature", "transaction.version=1"]),
                ("kafka-cluster", ["unregister", *at, "--id", "9"]),
                ("kafka-topics", [*at, "--delete", "--topic", "t"]),
            ],
            timeout_s=300,
        )  # fmt: skip
        said = changes(tmp_path / "node.log")
        assert PASSWORD not in (tmp_path / "node.log").read_text()
    acl = "resource=ACL:ALLOW,User:bob,10.0.0.0/8,READ,TOPIC,LITERAL,t answer=NONE"
    assert said == [
        "CREATE_TOPICS resource=TOPIC:t answer=NONE detail=partitions=1,replication_factor=-1",
        "CREATE_PARTITIONS resource=TOPIC:t answer=NONE detail=partitions=2",
        "OFFSET_COMMIT resource=GROUP:g answer=NONE detail=set_offsets,t-0",
        "INCREMENTAL_ALTER_CONFIGS resource=TOPIC:t answer=NONE detail=retention.ms=600000",
        "INCREMENTAL_ALTER_CONFIGS resource=TOPIC:t answer=NONE detail=-retention.ms",
        "ALTER_USER_SCRAM_CREDENTIALS resource=USER:bob answer=NONE detail=SCRAM_SHA_256,iterations=4096",
        "ALTER_CLIENT_QUOTAS resource=QUOTA:user=bob answer=NONE detail=producer_byte_rate=1024",
        "INCREMENTAL_ALTER_CONFIGS resource=BROKER_LOGGER:0 answer=NONE detail=root=INFO",
        f"CREATE_ACLS {acl}",
        f"DELETE_ACLS {acl}",
        "OFFSET_DELETE resource=GROUP:g answer=NONE detail=delete_offsets,t-0",
        "DELETE_GROUPS resource=GROUP:g answer=NONE detail=delete",
        "DELETE_RECORDS resource=TOPIC:t answer=NONE detail=0<3",
        "ELECT_LEADERS resource=TOPIC:t answer=ELECTION_NOT_NEEDED detail=election=preferred,0",
        "ALTER_PARTITION_REASSIGNMENTS resource=TOPIC:t answer=NONE detail=0->0",
        "UPDATE_FEATURES resource=FEATURE:transaction.version answer=NONE detail=level=1",
        "UNREGISTER_BROKER resource=BROKER:9 answer=BROKER_ID_NOT_REGISTERED",
        "DELETE_TOPICS resource=TOPIC:t answer=NONE",
    ], [(result.args, result.stdout[-200:], result.stderr[-200:]) for result in results]
