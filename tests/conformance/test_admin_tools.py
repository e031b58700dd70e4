"""Kafka's own tools for those who run a cluster, each as they would use it, in one Java process."""

import json
import re
import shutil
from pathlib import Path

import pytest
import servers
from ask import ask
from kafka_tools import run_tools

from millstream_wire import messages as m

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

TIMEOUT_S = 240
RECORDS = 5000


def test_what_operators_run(node: servers.ServerProcess, topic: str, tmp_path: Path) -> None:
    server = ["--bootstrap-server", node.bootstrap]
    (cluster,) = ask(node.bootstrap, m.DescribeClusterRequest())
    broker = cluster.brokers[0].broker_id
    files = {
        "delete": {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 100}]},
        "elect": {"partitions": [{"topic": topic, "partition": 0}]},
        "move": {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [broker]}]},
        "topics": {"version": 1, "topics": [{"topic": topic}]},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    producing = ["--topic", topic, "--num-records", str(RECORDS), "--record-size", "100", "--throughput", "-1"]
    consuming = ["--topic", topic, "--num-records", str(RECORDS), "--timeout", "60000", *server]
    metrics = ["--name", f"metrics-{topic}"]
    results = run_tools(
        [
            ("kafka-topics", [*server, "--create", "--topic", topic, "--partitions", "1"]),
            ("kafka-producer-perf-test", [*producing, "--command-property", f"bootstrap.servers={node.bootstrap}"]),
            ("kafka-consumer-perf-test", consuming),
            ("kafka-delete-records", [*server, "--offset-json-file", str(tmp_path / "delete")]),
            ("kafka-get-offsets", [*server, "--topic", topic, "--time", "earliest"]),
            ("kafka-log-dirs", [*server, "--describe", "--topic-list", topic]),
            ("kafka-metadata-quorum", [*server, "describe", "--status"]),
            ("kafka-metadata-quorum", [*server, "describe", "--replication"]),
            ("kafka-cluster", ["cluster-id", *server]),
            ("kafka-cluster", ["list-endpoints", *server]),
            ("kafka-leader-election", [*server, "--election-type", "preferred", "--path-to-json-file", str(tmp_path / "elect")]),
            ("kafka-reassign-partitions", [*server, "--execute", "--reassignment-json-file", str(tmp_path / "move")]),
            ("kafka-reassign-partitions", [*server, "--verify", "--reassignment-json-file", str(tmp_path / "move")]),
            ("kafka-reassign-partitions", [*server, "--list"]),
            ("kafka-groups", [*server, "--list"]),
            ("kafka-client-metrics", [*server, "--alter", *metrics, "--metrics", "org.apache.kafka.", "--interval", "5000"]),
            ("kafka-client-metrics", [*server, "--list"]),
            ("kafka-client-metrics", [*server, "--describe", *metrics]),
            ("kafka-client-metrics", [*server, "--delete", *metrics]),
            ("kafka-configs", [*server, "--describe", "--entity-type", "broker-loggers", "--entity-name", str(broker)]),
            ("kafka-broker-api-versions", server),
        ],
        timeout_s=TIMEOUT_S,
    )  # fmt: skip
    for result in results:
        assert result.returncode == 0, (result.args, result.stdout + result.stderr)
    said = [result.stdout for result in results]
    assert f"{RECORDS} records sent" in said[1]
    assert re.search(rf", {RECORDS}, ", said[2]), said[2]
    assert "low_watermark: 100" in said[3]
    assert f"{topic}:0:100" in said[4]
    directories = json.loads(next(line for line in said[5].splitlines() if line.startswith("{")))
    (replica,) = directories["brokers"][0]["logDirs"][0]["partitions"]
    assert replica["size"] > RECORDS * 100
    assert re.search(r"LeaderId:\s+20000", said[6])
    assert "Leader" in said[7]
    assert cluster.cluster_id in said[8]
    assert str(broker) in said[9]
    assert re.search("already elected|Valid replica already elected|Successfully completed", said[10]), said[10]
    assert "Successfully started partition reassignment" in said[11]
    assert "is completed" in said[12]
    assert "No partition reassignments found" in said[13]
    assert f"metrics-{topic}" in said[16]
    assert "interval.ms=5000" in said[17]
    assert "root=" in said[19]
    assert "UpdateFeatures(57): 0 to 2" in said[20]
