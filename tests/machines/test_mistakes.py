"""What people and machines do wrong: one thing's trouble is said in words and holds nothing else up."""

from __future__ import annotations

import time

from installed import Installed
from machines import Machines, broker, in_sync
from product import RELEASE, topic
from steps import Steps
from traffic import Traffic

SILENT_S = 120
CONVERGED_S = 60


def test_a_missing_image(installed: Installed, machines: Machines, traffic: Traffic, steps: Steps) -> None:
    good = installed.resource["spec"]["images"]["broker"]
    before = installed.uids("broker")
    operator = [each["metadata"]["uid"] for each in machines.pods_of("operator")]
    installed.change({"images": {"broker": "millstream-broker:missing"}})
    named = "the Cluster names it"
    installed.wait_until(named, lambda: installed.condition("Progressing")["reason"] == "PodDoesNotStart", timeout_s=90)
    message = installed.condition("Progressing")["message"]
    assert f"{RELEASE}-broker-2" in message
    assert "millstream-broker:missing" in message
    steps.done(f"{message}: {traffic.away()}")
    time.sleep(20)
    after = installed.uids("broker")
    assert [name for name, uid in before.items() if after.get(name) != uid] == [broker(2)]
    assert [each["metadata"]["uid"] for each in machines.pods_of("operator")] == operator
    installed.change({"images": {"broker": good}})
    installed.wait_until_ready(timeout_s=120)
    last = installed.uids("broker")
    assert [name for name, uid in before.items() if last[name] != uid] == [broker(2)]
    steps.done(f"one broker was down, and going back has mended it: {traffic.away()}")


def test_a_size_that_cannot_be_beside_a_change_that_can(installed: Installed, traffic: Traffic, steps: Steps) -> None:
    size = installed.resource["spec"]["brokers"]["storage"]["size"]
    installed.change({"brokers": {"storage": {"size": "2Gi"}}, "coordinators": {"replicas": 3}})
    three = "the coordinators are three"
    installed.wait_until(three, lambda: installed.resource["status"]["coordinators"] == "3/3", timeout_s=90)
    steps.done(f"{three}: {traffic.away()}")
    refused = "the size is refused"
    installed.wait_until(
        refused, lambda: installed.condition("Progressing")["reason"] == "StorageNotChanged", timeout_s=60
    )
    steps.done(f"{refused}: {installed.condition('Progressing')['message']}")
    installed.change({"brokers": {"storage": {"size": size}}, "coordinators": {"replicas": 2}})
    two = "the coordinators are two"
    installed.wait_until(two, lambda: installed.resource["status"]["coordinators"] == "2/2", timeout_s=90)
    installed.wait_until_ready(timeout_s=90)
    steps.done(f"both taken back: {traffic.away()}")


def test_no_api_server_for_two_minutes(
    installed: Installed, machines: Machines, traffic: Traffic, steps: Steps
) -> None:
    victims = (broker(1), machines.active_controller())
    machines.api_server("stop")
    began = time.monotonic()
    try:
        time.sleep(10)
        for name in victims:
            machines.kill_process(name)
            steps.done(f"{name} killed without an API server: {traffic.away()}")
        time.sleep(max(0.0, SILENT_S - (time.monotonic() - began)))
        steps.done(f"{SILENT_S} s without an API server: {traffic.away()}")
    finally:
        machines.api_server("start")
    installed.wait_until("the API server answers", lambda: machines.names(), timeout_s=60)
    back = time.monotonic()

    def told(what: str) -> None:
        steps.done(f"{time.monotonic() - back:.0f} s after it was back {what}: {traffic.away()}")

    installed.wait_until("records are taken again", lambda: traffic.waits_s() < 1, timeout_s=CONVERGED_S)
    told("records are taken again")
    # The statuses are of before; a topic that is made now is the operator's word of now.
    installed.cluster.apply(topic("made-after", partitions=1, replicationFactor=3, deletionPolicy="Delete"))
    installed.cluster.wait_for_condition("topic", "made-after", "Ready", "True", timeout_s=CONVERGED_S)
    told("the operator makes topics")
    # Kubelets ask an API server that was away ever more seldom.
    installed.wait_until("every node is ready", lambda: all(map(machines.is_ready, machines.names())), timeout_s=120)
    told("every node is ready")
    installed.wait_until_ready(timeout_s=CONVERGED_S)
    installed.wait_until("everything is in sync", lambda: in_sync(installed), timeout_s=CONVERGED_S)
    told("everything is as before")
    installed.cluster.kubectl("delete", "topic", "made-after", timeout_s=60)
