"""What people and machines do wrong: one thing's trouble is said in words and holds nothing else up."""

from __future__ import annotations

import time

from installed import Installed
from machines import Machines, broker
from product import RELEASE
from steps import Steps
from traffic import Traffic


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
