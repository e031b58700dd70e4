"""The runbooks of the alerts that come most often, followed by the letter: what they tell to look at says it, and what they tell to do helps."""

from __future__ import annotations

import base64
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from group_reader import Reader, produce
from kafka import KafkaConsumer
from kafka.errors import KafkaError
from kubectl import ROOT
from kubelet import RELEASE
from product import consumer_group, topic, user
from scene import Scene

HUNG = f"{RELEASE}-broker-1"
ROLE = "millstream.dev/role=broker"


def metric(text: str, name: str) -> float:
    """Over all of its labels."""
    found = re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
    return sum(float(each) for each in found)


def alerted(scene: Scene, name: str) -> float:
    return metric(scene.nodes.metrics_of("operator"), f"millstream_{name}")


@pytest.fixture(scope="module")
def administrator(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The properties of somebody who may look at everything, out of the User's Secret."""
    seen = [("Topic", "*", ["Describe", "DescribeConfigs"]), ("Group", "*", ["Describe"])]
    seen.append(("Cluster", "kafka-cluster", ["Describe", "DescribeConfigs"]))
    scene.cluster.apply(user("administrator", seen))
    scene.cluster.wait_for_condition("user", "administrator", "Ready", "True", timeout_s=60)
    secret = scene.cluster.get("secret", "administrator")
    assert secret is not None
    path = Path(tmp_path_factory.mktemp("administrator")) / "client.properties"
    path.write_bytes(base64.b64decode(secret["data"]["client.properties"]))
    return path


def command(scene: Scene, properties: Path, *words: str) -> str:
    bootstrap = scene.librdkafka["bootstrap.servers"]
    program = [str(ROOT / ".venv/bin/millstream"), *words, "--bootstrap", bootstrap]
    done = subprocess.run(
        [*program, "--command-config", str(properties)], capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout + done.stderr


@contextmanager
def hung(scene: Scene, pod: str) -> Iterator[None]:
    scene.nodes.send(pod, signal.SIGSTOP)
    try:
        yield
    finally:
        scene.nodes.send(pod, signal.SIGCONT)


def test_partitions_offline_below_their_minimum_and_out_of_sync_and_a_cluster_that_is_not_ready(
    scene: Scene, administrator: Path
) -> None:
    scene.cluster.apply(
        topic("kept-once", partitions=6, replicationFactor=1),
        topic("kept-by-all", partitions=3, replicationFactor=3, config={"min.insync.replicas": "3"}),
    )
    for name in ("kept-once", "kept-by-all"):
        scene.cluster.wait_for_condition("topic", name, "Ready", "True", timeout_s=60)
    counts = ("offline", "under_min_isr", "under_replicated")
    with hung(scene, HUNG):
        scene.wait_until(
            "they are counted",
            lambda: all(alerted(scene, f"cluster_partitions_{each}") > 0 for each in counts),
            timeout_s=60,
        )
        scene.wait_until("the Cluster is not Ready", lambda: alerted(scene, "cluster_ready") == 0, timeout_s=60)
        # What is offline, and who had it last; which pod that is; what too few have.
        assert scene.condition("Ready")["reason"] == "PartitionsOffline"
        message = scene.condition("Ready")["message"]
        assert "kept-once-" in message
        assert "broker 1 " in message
        scene.wait_until(
            "the pod is seen",
            lambda: HUNG not in {each["metadata"]["name"] for each in scene.cluster.ready_pods(ROLE)},
            60,
        )
        scene.wait_until(
            "it is said", lambda: "kept-by-all-0" in command(scene, administrator, "cluster", "health"), 60
        )
    scene.wait_until_ready(timeout_s=120)
    scene.wait_until(
        "nothing is counted", lambda: not any(alerted(scene, f"cluster_partitions_{each}") for each in counts), 60
    )
    scene.wait_until(
        "it is said no more", lambda: "kept-by-all-0" not in command(scene, administrator, "cluster", "health"), 60
    )
    scene.cluster.kubectl("delete", "topic/kept-once", "topic/kept-by-all")


def test_a_group_that_is_stuck_at_a_record_goes_past_it(scene: Scene, administrator: Path) -> None:
    declared: dict[str, Any] = {"topics": ["poisoned"], "alerts": {"stuckAfterSeconds": 5}}
    scene.cluster.apply(topic("poisoned", partitions=1), consumer_group("stuck-one", **declared))
    scene.cluster.wait_for_condition("topic", "poisoned", "Ready", "True", timeout_s=60)
    reader = Reader(scene.clients, "stuck-one", "poisoned")

    def status() -> dict[str, Any]:
        return dict((scene.cluster.get("consumergroup", "stuck-one") or {}).get("status") or {})

    try:
        produce(scene.clients, "poisoned", 1, 1)
        scene.wait_until(
            "one is read", lambda: (0, 0) in reader.read and (status().get("lag") or {}).get("total") == 0, 60
        )
        reader.commits.clear()
        produce(scene.clients, "poisoned", 1, 3)
        scene.wait_until("the alert would fire", lambda: alerted(scene, "group_stuck_partitions") > 0, timeout_s=90)
        [stuck] = status()["stuckPartitions"]
        assert (stuck["topic"], stuck["committed"], stuck["lag"]) == ("poisoned", 1, 3)
        described = command(scene, administrator, "group", "describe", "stuck-one")
        assert re.search(r"kafka-python\S*\s.*poisoned", described), described
        reset = {"id": "past", "to": "ShiftBy", "value": "1", "topics": ["poisoned"], "partitions": [0]}
        scene.cluster.apply(
            consumer_group("stuck-one", **declared, offsets={"reset": {**reset, "whenActive": "Drain"}})
        )
        scene.wait_until(
            "it is past it", lambda: (status().get("lastReset") or {}).get("phase") == "Done", timeout_s=120
        )
        reader.commits.set()
        scene.wait_until("the rest is read", lambda: status()["lag"]["total"] == 0, timeout_s=120)
        scene.wait_until("the alert ends", lambda: alerted(scene, "group_stuck_partitions") == 0, timeout_s=60)
    finally:
        reader.stop()
    scene.cluster.kubectl("delete", "consumergroup/stuck-one", "topic/poisoned")


def test_logins_that_are_refused_are_in_the_brokers_logs(scene: Scene) -> None:
    def refused() -> float:
        pods = (f"{RELEASE}-broker-{number}" for number in range(3))
        return sum(metric(scene.nodes.metrics_of(pod), "millstream_failed_logins_total") for pod in pods)

    before = refused()
    wrong = {**scene.clients, "sasl_plain_username": "intruder", "sasl_plain_password": "wrong"}
    with pytest.raises(KafkaError):
        KafkaConsumer(**wrong, bootstrap_timeout_ms=10_000)
    scene.wait_until("they are counted", lambda: refused() > before, timeout_s=30)
    told = [line for text in scene.nodes.logs_like("broker") for line in text.splitlines() if "login failed" in line]
    assert any("host=127." in line and "listener=CLIENTS" in line for line in told), told[-3:]
