"""What happens to a cluster: pods die, nodes and disks are lost."""

from __future__ import annotations

import time

import pytest
from confluent_kafka.admin import AdminClient
from installed import Installed
from machines import Machines, broker
from steps import Steps
from traffic import Traffic

CUT_OFF_S = 60


def in_sync(installed: Installed) -> bool:
    """Whether every partition has as many replicas in sync as it has."""
    found = AdminClient(installed.librdkafka).list_topics(timeout=30).topics.values()
    return all(len(part.isrs) == len(part.replicas) for each in found for part in each.partitions.values())


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
