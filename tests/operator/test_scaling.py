"""3 -> 4 -> 3 brokers under a producer: those that come get their share, those that go are emptied first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kubelet import RELEASE
from load import Load
from product import topic
from scene import Scene


@pytest.fixture(scope="module")
def load(scene: Scene) -> Iterator[Load]:
    scene.cluster.apply(topic("scaled", partitions=6, replicationFactor=3))
    scene.cluster.wait_for_condition("topic", "scaled", "Ready", "True", timeout_s=60)
    running = Load("scaled", scene.clients)
    yield running
    running.stop()


def partitions(scene: Scene, *names: str) -> list[dict[str, Any]]:
    """Of all topics, or those named."""
    admin = KafkaAdminClient(**scene.clients)
    try:
        found = admin.describe_topics(list(names) or None)
    finally:
        admin.close()
    return [partition for each in found for partition in each["partitions"]]


def replicas(scene: Scene, *names: str) -> Counter[int]:
    return Counter(node for partition in partitions(scene, *names) for node in partition["replica_nodes"])


def leaders(scene: Scene, *names: str) -> Counter[int]:
    return Counter(partition["leader_id"] for partition in partitions(scene, *names))


def test_a_broker_that_is_added_gets_its_share_and_new_partitions_are_spread(scene: Scene, load: Load) -> None:
    assert scene.resource["status"]["scale"]["balancedBrokers"] == 3
    scene.change({"brokers": {"replicas": 4}})
    scene.wait_until("the fourth broker is ready", lambda: scene.resource["status"]["brokers"] == "4/4", timeout_s=60)
    scene.cluster.apply(topic("fresh", partitions=12, replicationFactor=1))
    scene.cluster.wait_for_condition("topic", "fresh", "Ready", "True", timeout_s=60)
    assert max(leaders(scene, "fresh").values()) <= 6, leaders(scene, "fresh")
    told = scene.wait_until("the plan is told", lambda: scene.resource["status"]["scale"].get("toMove"), timeout_s=60)
    assert told["partitions"] > 0
    assert "seconds" in told
    balanced = "the replicas are spread over four brokers"
    scene.wait_until(balanced, lambda: scene.resource["status"]["scale"]["balancedBrokers"] == 4, timeout_s=120)
    held = replicas(scene)
    assert max(held.values()) - min(held.values()) <= 2, held
    led = leaders(scene)
    assert max(led.values()) - min(led.values()) <= 2, led
    assert {"Rebalancing", "ReplicasMoved"} <= scene.reasons()
    scene.wait_until_ready()
    print(f"told {told}; replicas {held}, leaders {led}; longest wait {load.longest_s:.2f} s")


def test_a_broker_that_goes_is_emptied_first_and_forgotten_in_the_end(scene: Scene, load: Load) -> None:
    scene.change({"brokers": {"replicas": 3}})
    scene.wait_until("its pod is gone", lambda: f"{RELEASE}-broker-3" not in scene.uids("broker"), timeout_s=180)
    assert replicas(scene)[3] == 0
    assert scene.resource["status"]["partitions"]["offline"] == 0
    scene.wait_until("it is forgotten", lambda: "BrokerForgotten" in scene.reasons(), timeout_s=60)
    assert {"BrokerCordoned", "Draining"} <= scene.reasons()
    scene.wait_until_ready()
    scene.wait_until(
        "nothing of it is remembered",
        lambda: scene.resource["status"]["scale"]["cordonedBrokers"] == [],
        timeout_s=30,
    )


def test_fewer_brokers_than_a_partition_has_replicas_are_refused_in_words(scene: Scene, load: Load) -> None:
    scene.change({"brokers": {"replicas": 2}})
    scene.wait_until(
        "it is refused", lambda: scene.condition("Progressing")["reason"] == "ScaleDownBlocked", timeout_s=60
    )
    assert "(3 replicas)" in scene.condition("Progressing")["message"]
    scene.change({"brokers": {"replicas": 3}})
    scene.wait_until_ready()
    assert len(scene.uids("broker")) == 3


def test_everything_acknowledged_while_scaling_is_there_once_and_in_order(load: Load) -> None:
    load.end()
    print(f"{len(load.acknowledged)} acknowledged, the longest wait {load.longest_s:.2f} s")
