"""As many consumers as a group's lag asks for, or `kubectl scale` says: pods of a StatefulSet, static members by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from group_reader import produce
from kafka import KafkaAdminClient
from product import consumer_group, topic
from scene import Scene

WORKER = str(Path(__file__).parent / "worker.py")
PARTITIONS = 3
LAG = 60
FIRST = 4
"""The ordinal of the first pod, which a StatefulSet may say."""


@pytest.fixture(scope="module", autouse=True)
def workers(scene: Scene) -> Iterator[None]:
    """None at first."""
    scene.cluster.apply(topic("work", partitions=PARTITIONS, replicationFactor=1), stateful_set(scene))
    scene.cluster.wait_for_condition("topic", "work", "Ready", "True", timeout_s=60)
    produce(scene.clients, "work", PARTITIONS, LAG // PARTITIONS)
    yield
    scene.cluster.kubectl("delete", "statefulset", "workers", "--wait=true")
    scene.cluster.kubectl("delete", "consumergroup", "hands", "--wait=true")


def stateful_set(scene: Scene) -> dict[str, Any]:
    labels = {"app": "workers"}
    container = {
        "name": "worker",
        "image": scene.cluster.image("operator"),
        "command": ["python", WORKER, json.dumps(scene.clients), "hands", "work"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = {
        "automountServiceAccountToken": False,
        "securityContext": security,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    spec = {
        "replicas": 0,
        "ordinals": {"start": FIRST},
        "serviceName": "workers",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "workers"}, "spec": spec}


def declare(scene: Scene, **scaling: Any) -> None:
    workload = {"workload": {"kind": "StatefulSet", "name": "workers"}}
    scene.cluster.apply(consumer_group("hands", topics=["work"], scaling={**workload, **scaling}))


def members(scene: Scene) -> set[str]:
    """Their instance ids, as the group's coordinator has them."""
    admin = KafkaAdminClient(**scene.clients)
    try:
        described = admin.describe_groups(["hands"])["hands"]
    finally:
        admin.close()
    return {each["group_instance_id"] for each in described["members"]}


def wait_for_members(scene: Scene, *names: str) -> None:
    scene.wait_until(f"{names} are the members", lambda: members(scene) == set(names), timeout_s=90)


def test_lag_brings_consumers_and_never_more_than_there_are_partitions(scene: Scene) -> None:
    declare(scene, lagPerReplica=10, maxReplicas=5)
    wait_for_members(scene, *(f"workers-{FIRST + ordinal}" for ordinal in range(PARTITIONS)))
    assert "ConsumersScaled" in scene.reasons("ConsumerGroup")
    assert set(scene.cluster.kubectl("get", "pods", "-l", "app=workers", "-o", "name").split()) == {
        f"pod/workers-{FIRST + ordinal}" for ordinal in range(PARTITIONS)
    }


def test_kubectl_scale_decides_where_lag_does_not_and_members_go_with_their_pods(scene: Scene) -> None:
    declare(scene, replicas=3)
    scene.cluster.kubectl("scale", "consumergroup/hands", "--replicas=1")
    wait_for_members(scene, f"workers-{FIRST}")
    found = scene.wait_until(
        "the status says so",
        lambda: (now := scene.cluster.get("consumergroup", "hands")) and now["status"]["members"] == 1 and now,
        timeout_s=30,
    )
    assert found["status"]["replicas"] == 1
    assert found["status"]["selector"] == "app=workers"


def test_a_workload_that_is_not_there_is_named(scene: Scene) -> None:
    wrong = {"workload": {"kind": "Deployment", "name": "nobody"}, "replicas": 2}
    scene.cluster.apply(consumer_group("handless", topics=["work"], scaling=wrong))
    found = scene.cluster.wait_for_condition("consumergroup", "handless", "Scaled", "False", timeout_s=60)
    [told] = [each for each in found["status"]["conditions"] if each["type"] == "Scaled"]
    assert (told["reason"], "Deployment nobody" in told["message"]) == ("WorkloadMissing", True)
    scene.cluster.kubectl("delete", "consumergroup", "handless", "--wait=true")
