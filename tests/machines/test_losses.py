"""What happens to a cluster: pods die, nodes and disks are lost."""

from __future__ import annotations

import time

import pytest
from installed import Installed
from machines import OUT_OF_SERVICE, Machines, broker, in_sync
from steps import Steps
from traffic import Traffic

CUT_OFF_S = 60


@pytest.mark.parametrize("role", ["controller", "coordinator"])
def test_kill_of_a_pod(installed: Installed, machines: Machines, traffic: Traffic, steps: Steps, role: str) -> None:
    for pod in machines.pods_of(role):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        machines.kill_pod(name)
        installed.wait_until(
            "it is replaced",
            lambda uid=uid: uid not in {each["metadata"]["uid"] for each in machines.pods_of(role)},
            timeout_s=60,
        )
        installed.wait_until_ready(timeout_s=90)
        steps.done(f"{name} killed and replaced: {traffic.away()}")


def test_a_brokers_pod_deleted_with_its_volume(
    installed: Installed, machines: Machines, traffic: Traffic, steps: Steps
) -> None:
    name, claim = broker(1), f"data-{broker(1)}"
    before = installed.cluster.get("pvc", claim)
    assert before is not None
    installed.cluster.kubectl("delete", "pvc", claim, "--wait=false")
    installed.cluster.kubectl("delete", "pod", name, "--wait=false")

    def is_another() -> bool:
        found = installed.cluster.get("pvc", claim)
        return found is not None and found["metadata"]["uid"] != before["metadata"]["uid"]

    installed.wait_until("there is another claim", is_another, timeout_s=120)
    installed.wait_until_ready(timeout_s=120)
    installed.wait_until("everything is in sync again", lambda: in_sync(installed), timeout_s=120)
    steps.done(f"{name} is back with an empty volume, and in sync: {traffic.away()}")


def test_a_disk_wiped(installed: Installed, machines: Machines, traffic: Traffic, steps: Steps) -> None:
    name = broker(2)
    node = machines.node_of(name)
    machines.do("wipe", node)
    machines.kill_pod(name)
    steps.done(f"the disks of {node} are empty and {name} has begun again")
    installed.wait_until_ready(timeout_s=120)
    installed.wait_until("everything is in sync again", lambda: in_sync(installed), timeout_s=120)
    steps.done(f"healed unasked: {traffic.away()}")


def test_a_node_cut_off(installed: Installed, machines: Machines, traffic: Traffic, steps: Steps) -> None:
    node = machines.node_of(broker(1))
    machines.do("cut", node)
    try:
        machines.wait_until(node, ready=False)
        steps.done(f"{node} is missed: {traffic.away()}")
        time.sleep(CUT_OFF_S)
        steps.done(f"{CUT_OFF_S} s later: {traffic.away()}")
    finally:
        machines.do("join", node)
    machines.wait_until(node, ready=True)
    installed.wait_until_ready(timeout_s=180)
    steps.done(f"{node} is back and everything is as before: {traffic.away()}")


def test_a_node_lost_for_good(installed: Installed, machines: Machines, traffic: Traffic, steps: Steps) -> None:
    lost = broker(1)
    node = machines.node_of(lost)
    claim = installed.cluster.get("pvc", f"data-{lost}")
    assert claim is not None
    uid = claim["metadata"]["uid"]
    machines.do("kill", node)
    machines.wait_until(node, ready=False)
    steps.done(f"{node} is missed: {traffic.away()}")
    installed.change({"brokers": {"releaseClaims": [uid]}})
    replacement = machines.another()
    machines.do("start", replacement)
    machines.wait_until(replacement, ready=True)
    installed.cluster.kubectl("taint", "node", node, OUT_OF_SERVICE)
    steps.done(f"a person gave the claim up, took {node} out of service and put {replacement} beside it")

    def is_another() -> bool:
        found = installed.cluster.get("pvc", f"data-{lost}")
        return found is not None and found["metadata"]["uid"] != uid

    installed.wait_until("there is another claim", is_another, timeout_s=180)
    assert "ClaimReleased" in installed.reasons()
    steps.done(f"the claim is released: {traffic.away()}")
    installed.wait_until_ready(timeout_s=180)
    installed.wait_until("everything is in sync again", lambda: in_sync(installed), timeout_s=120)
    assert machines.node_of(lost) != node
    steps.done(f"{lost} is on {machines.node_of(lost)} and in sync: {traffic.away()}")
    installed.change({"brokers": {"releaseClaims": None}})
    installed.cluster.kubectl("delete", "node", node)
