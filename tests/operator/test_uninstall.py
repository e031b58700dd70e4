"""The end: this module comes last, and takes the release away; then its whole namespace."""

from __future__ import annotations

import os
import time

import pytest
from kubectl import PATIENCE, make_namespace
from kubelet import NAMESPACE, RELEASE
from product import consumer_group, install, topic, user
from scene import Scene

LIMIT_S = 120
NAMESPACE_LIMIT_S = 60
FIRST = {
    "operator": ("deployment", f"{RELEASE}-operator"),
    "rights": ("rolebinding", f"{NAMESPACE}-{RELEASE}-operator"),
    "cluster": ("cluster", RELEASE),
    "declared": ("topic,consumergroup,user", "--all"),
    "all-at-once": (),
}
"""What somebody deletes, and does not wait for, before the namespace."""
ORDERS = [*FIRST] if "MILLSTREAM_MANY" in os.environ else ["operator"]


def test_helm_uninstall_ends_though_a_node_is_lost(scene: Scene) -> None:
    lost = scene.nodes.node_of(f"{RELEASE}-broker-1")
    scene.nodes.lose(lost)
    began = time.monotonic()
    scene.cluster.helm("uninstall", RELEASE, "--wait", "--timeout", "200s")
    took_s = time.monotonic() - began
    assert took_s < LIMIT_S * PATIENCE
    assert scene.cluster.get("cluster", RELEASE) is None
    left = scene.cluster.kubectl("get", "statefulsets,deployments,services,metadataslots", "-o", "name").split()
    assert left == []
    topics = scene.cluster.list("topics")
    assert not any(each["metadata"].get("finalizers") for each in topics)
    kept = scene.cluster.run("kubectl", "get", "crd", "-o", "name")
    assert "topics.millstream.dev" in kept, "what people have declared is not taken away with the release"
    print(f"uninstalled in {took_s:.0f} s")
    scene.nodes.find(lost)


@pytest.mark.parametrize("first", ORDERS)
def test_a_namespace_goes_with_everything_in_it_whatever_goes_first(scene: Scene, first: str) -> None:
    """Operator, Cluster, Topics under Delete: nothing waits for what is gone already."""
    cluster = scene.cluster
    if cluster.get("namespace", NAMESPACE) is None:
        make_namespace(cluster, NAMESPACE)
    install(cluster, broker__replicas="1", controller__replicas="1", coordinator__replicas="1")
    scene.wait_until_ready(timeout_s=120)
    cluster.apply(
        topic("last", partitions=1, deletionPolicy="Delete"),
        consumer_group("last", topics=["last"], deletionPolicy="DeleteIfEmpty", paused=True),
        user("last", [("Topic", "last", ["Read"])]),
    )
    for kind in ("topic", "consumergroup", "user"):
        cluster.wait_for_condition(kind, "last", "Ready", "True", timeout_s=90)
    if FIRST[first]:
        cluster.kubectl("delete", *FIRST[first], "--wait=false")
    began = time.monotonic()
    cluster.run("kubectl", "delete", "namespace", NAMESPACE, "--timeout=180s", timeout_s=200)
    took_s = time.monotonic() - began
    print(f"the namespace was gone after {took_s:.0f} s")
    assert took_s < NAMESPACE_LIMIT_S * PATIENCE
