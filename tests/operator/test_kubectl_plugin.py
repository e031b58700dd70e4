"""`kubectl millstream`: address and credentials are what the API server has of a Cluster and a User."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from product import topic
from scene import Scene

PLUGINS = Path(sys.executable).parent


def test_kubectl_finds_it_on_the_path_and_it_finds_the_cluster(scene: Scene) -> None:
    scene.cluster.apply(topic("seen", partitions=2))
    scene.cluster.wait_for_condition("topic", "seen", "Ready", "True", timeout_s=60)
    words = ("env", f"PATH={PLUGINS}:{os.environ['PATH']}", "kubectl", "millstream", "-n", scene.cluster.namespace)
    listed = json.loads(scene.cluster.run(*words, "--user", "tester", "topic", "list", "--json"))
    assert {"topic": "seen", "partitions": 2} in [
        {"topic": each["topic"], "partitions": each["partitions"]} for each in listed
    ]
