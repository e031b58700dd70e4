"""The end: this module comes last, and takes the release away."""

from __future__ import annotations

import time

from kubectl import PATIENCE
from kubelet import RELEASE
from scene import Scene

LIMIT_S = 120


def test_helm_uninstall_ends_though_a_node_is_lost(scene: Scene) -> None:
    scene.nodes.lose(scene.nodes.node_of(f"{RELEASE}-broker-1"))
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
