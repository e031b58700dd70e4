"""The end: the release goes although a node is lost."""

from __future__ import annotations

import time

from installed import Installed
from kubectl import PATIENCE
from machines import Machines, broker
from product import RELEASE
from steps import Steps

LIMIT_S = 120


def test_uninstall_with_a_node_lost(installed: Installed, machines: Machines, steps: Steps) -> None:
    node = machines.node_of(broker(1))
    machines.do("kill", node)
    machines.wait_until(node, ready=False)
    steps.done(f"{node} is lost")
    began = time.monotonic()
    installed.cluster.helm("uninstall", RELEASE, "--wait", "--timeout", "200s")
    took_s = time.monotonic() - began
    assert took_s < LIMIT_S * PATIENCE
    assert installed.cluster.get("cluster", RELEASE) is None
    left = installed.cluster.kubectl("get", "statefulsets,deployments,services,metadataslots", "-o", "name").split()
    assert left == []
    steps.done(f"uninstalled in {took_s:.0f} s")
    machines.do("start", node)
    machines.wait_until(node, ready=True)
