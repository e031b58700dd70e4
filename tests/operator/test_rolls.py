"""Pods are exchanged and evicted by what is in sync: one scenario in steps, each finds what those before it left."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kubelet import NAMESPACE, RELEASE
from load import Load
from product import topic
from scene import Scene

SETTLED_S = 12
"""One look, so that the last change is in every status."""
IDLE_S = 25
"""Two looks at everything, and more."""


@pytest.fixture(scope="module")
def load(scene: Scene) -> Iterator[Load]:
    scene.cluster.apply(topic("load", partitions=6, replicationFactor=3))
    scene.cluster.wait_for_condition("topic", "load", "Ready", "True", timeout_s=60)
    running = Load("load", scene.clients)
    yield running
    running.stop()


def test_the_status_says_how_partitions_are(scene: Scene, load: Load) -> None:
    partitions = scene.wait_until(
        "the status counts the topic's partitions",
        lambda: (found := scene.resource["status"]["partitions"])["total"] >= 6 and found,
        timeout_s=30,
    )
    assert (partitions["offline"], partitions["underMinIsr"]) == (0, 0)
    assert scene.condition("Ready")["reason"] == "AllServed"
    assert "AllServed" in scene.reasons()


def test_a_change_of_config_rolls_one_pod_at_a_time(scene: Scene, load: Load) -> None:
    before = {role: scene.uids(role) for role in ("broker", "controller", "coordinator")}
    watching = Watching(scene)
    scene.change({"config": {"log.cleaner.backoff.ms": "15001"}})
    scene.wait_until(
        "every pod is another",
        lambda: all(not set(scene.uids(role).values()) & set(old.values()) for role, old in before.items()),
        timeout_s=180,
    )
    scene.wait_until_ready()
    seen = watching.end()
    assert seen.away_max == 1, seen
    assert seen.under_min_isr_max == 0, seen
    assert "PodReplaced" in scene.reasons()
    print(f"longest wait for an acknowledgement {load.longest_s:.2f} s; {seen}")


class Watching:
    """Looks again and again how many pods are away and how many partitions are under their minimum."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._stop = threading.Event()
        self.away_max = 0
        self.under_min_isr_max = 0
        self.looks = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        from kafka import KafkaAdminClient

        admin = KafkaAdminClient(**self._scene.clients)
        while not self._stop.wait(0.1):
            pods = self._scene.core.list_namespaced_pod(NAMESPACE, label_selector=f"millstream.dev/cluster={RELEASE}")
            ready = sum(is_ready(pod) for pod in pods.items)
            self.away_max = max(self.away_max, 7 - ready)
            try:
                [described] = admin.describe_topics(["load"])
            except Exception:  # the broker that was asked is the one that goes
                continue
            few = sum(len(each["isr_nodes"]) < 2 for each in described["partitions"])
            self.under_min_isr_max = max(self.under_min_isr_max, few)
            self.looks += 1
        admin.close()

    def end(self) -> Watching:
        self._stop.set()
        self._thread.join()
        assert self.looks > 10
        return self

    def __repr__(self) -> str:
        return f"away at most {self.away_max}, under min ISR at most {self.under_min_isr_max}, {self.looks} looks"


def is_ready(pod: Any) -> bool:
    return not pod.metadata.deletion_timestamp and any(
        each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ()
    )


def test_a_missing_image_stops_at_one_pod_is_named_and_going_back_mends_it(scene: Scene, load: Load) -> None:
    good = scene.resource["spec"]["images"]["broker"]
    before = scene.uids("broker")
    scene.change({"images": {"broker": "millstream-broker:missing"}})
    scene.wait_until(
        "the Cluster names it", lambda: scene.condition("Progressing")["reason"] == "PodDoesNotStart", timeout_s=60
    )
    message = scene.condition("Progressing")["message"]
    assert "broker-2" in message
    assert "millstream-broker:missing" in message
    assert "ImagePullBackOff" in scene.condition("Ready")["message"]
    time.sleep(IDLE_S)
    after = scene.uids("broker")
    assert [name for name, uid in before.items() if after.get(name) != uid] == [f"{RELEASE}-broker-2"]
    scene.change({"images": {"broker": good}})
    scene.wait_until_ready(timeout_s=90)
    last = scene.uids("broker")
    assert [name for name, uid in before.items() if last[name] != uid] == [f"{RELEASE}-broker-2"]
    assert "PodDoesNotStart" in scene.reasons()


def evict(scene: Scene, pod: str) -> int:
    """The status code that an eviction is answered with."""
    from kubernetes import client

    try:
        eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=pod))
        scene.core.create_namespaced_pod_eviction(pod, NAMESPACE, eviction, _preload_content=False)
    except client.ApiException as error:
        return int(error.status)
    return 200


def budget(scene: Scene) -> int:
    found = scene.cluster.get("pdb", f"{RELEASE}-broker")
    assert found is not None
    return int(found["spec"]["maxUnavailable"])


def test_an_eviction_is_refused_while_a_partition_is_at_its_minimum(scene: Scene, load: Load) -> None:
    scene.wait_until("evictions are open", lambda: budget(scene) == 1, timeout_s=30)
    home = scene.nodes.node_of(f"{RELEASE}-broker-1")
    scene.nodes.lose(home)
    try:
        scene.wait_until("evictions are closed", lambda: budget(scene) == 0, timeout_s=30)
        assert evict(scene, f"{RELEASE}-broker-0") == 429
        status = scene.resource["status"]["partitions"]
        assert status["underReplicated"] > 0
    finally:
        scene.nodes.find(home)
    scene.wait_until_ready(timeout_s=90)
    scene.wait_until("evictions are open", lambda: budget(scene) == 1, timeout_s=30)
    assert evict(scene, f"{RELEASE}-broker-0") == 200
    scene.wait_until_ready(timeout_s=90)


def test_without_a_controller_nobody_knows_who_is_in_sync_and_nobody_may_be_evicted(scene: Scene, load: Load) -> None:
    """Brokers go on telling what they heard last; that was taken for the truth."""
    scene.wait_until("evictions are open", lambda: budget(scene) == 1, timeout_s=30)
    controllers = [f"{RELEASE}-controller-{number}" for number in range(2)]
    for name in controllers:
        scene.nodes.send(name, signal.SIGSTOP)
    try:
        scene.wait_until("evictions are closed", lambda: budget(scene) == 0, timeout_s=45)
    finally:
        for name in controllers:
            scene.nodes.send(name, signal.SIGCONT)
    scene.wait_until_ready(timeout_s=90)
    scene.wait_until("evictions are open", lambda: budget(scene) == 1, timeout_s=30)


def test_everything_acknowledged_is_there_once_and_in_order(load: Load) -> None:
    load.end()
    print(f"{len(load.acknowledged)} acknowledged, the longest wait {load.longest_s:.2f} s")


def test_at_rest_nothing_is_written(scene: Scene, load: Load) -> None:
    scene.wait_until_ready()
    time.sleep(SETTLED_S)
    before = scene.writes()
    time.sleep(IDLE_S)
    after = scene.writes()
    assert {key: count - before.get(key, 0) for key, count in after.items() if count != before.get(key, 0)} == {}
