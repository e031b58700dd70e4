"""What is done to a cluster by intent: nobody notices it for more than three seconds."""

from __future__ import annotations

import base64
import socket
import ssl
import time
from collections import Counter
from typing import Any

from confluent_kafka.admin import AdminClient
from installed import Installed
from kubectl import PATIENCE
from machines import Machines
from product import RELEASE, topic
from steps import Steps
from traffic import Traffic

AWAY_S_MAX = 3
ROLES = ("controller", "coordinator", "broker")


def felt_little(traffic: Traffic) -> str:
    assert traffic.longest_s() <= AWAY_S_MAX * PATIENCE, traffic.away()
    return traffic.away()


def test_roll_by_a_change_of_config(installed: Installed, traffic: Traffic, steps: Steps) -> None:
    before = {role: installed.uids(role) for role in ROLES}
    value = int(installed.resource["spec"].get("config", {}).get("log.cleaner.backoff.ms", 15000))
    installed.change({"config": {"log.cleaner.backoff.ms": str(value + 1)}})
    installed.wait_until(
        "every pod is another",
        lambda: all(not set(installed.uids(role).values()) & set(old.values()) for role, old in before.items()),
        timeout_s=240,
    )
    installed.wait_until_ready(timeout_s=90)
    steps.done(f"seven pods exchanged: {felt_little(traffic)}")


def test_exchange_of_the_operator(installed: Installed, machines: Machines, traffic: Traffic, steps: Steps) -> None:
    deployment = f"deployment/{RELEASE}-operator"
    installed.cluster.kubectl("rollout", "restart", deployment)
    installed.cluster.kubectl("rollout", "status", deployment, "--timeout=90s", timeout_s=100)
    steps.done(f"the operator is another: {felt_little(traffic)}")
    installed.cluster.apply(topic("made-by-the-next", partitions=1, replicationFactor=3, deletionPolicy="Delete"))
    installed.cluster.wait_for_condition("topic", "made-by-the-next", "Ready", "True", timeout_s=60)
    steps.done("and makes topics")
    installed.cluster.kubectl("delete", "topic", "made-by-the-next", timeout_s=60)


def test_exchange_of_the_certificates(installed: Installed, traffic: Traffic, steps: Steps) -> None:
    """Clients keep what they were given to trust, also for the connections that they open afterwards."""
    before, begun = authorities(installed), beginnings(installed)
    installed.cluster.kubectl("annotate", "cluster", RELEASE, "--overwrite", f"millstream.dev/rotate={time.time_ns()}")
    installed.wait_until("there is another authority", lambda: authorities(installed)[0] != before[0], timeout_s=60)
    newest = authorities(installed)[0]
    pods = installed.cluster.list("pods", "millstream.dev/role")
    for each in pods:
        # The kubelet looks at mounted Secrets about once a minute; a change of the pod makes it look now.
        installed.cluster.kubectl("annotate", "pod", each["metadata"]["name"], "--overwrite", f"at={time.time_ns()}")
    for each in pods:
        name = each["metadata"]["name"]
        installed.wait_until(f"{name} is of it", lambda each=each: is_certified_by(newest, each), timeout_s=150)
    assert beginnings(installed) == begun
    steps.done(f"every pod is certified by another authority: {felt_little(traffic)}")


def authorities(installed: Installed) -> list[str]:
    """What a User is given to trust, the newest first."""
    secret = installed.cluster.get("secret", "tester")
    assert secret is not None
    end = "-----END CERTIFICATE-----\n"
    return [each + end for each in base64.b64decode(secret["data"]["ca.crt"]).decode().split(end)[:-1]]


def beginnings(installed: Installed) -> dict[str, int]:
    """How often each pod, by its uid, has begun again."""
    pods = installed.cluster.list("pods", "millstream.dev/role")
    return {pod["metadata"]["uid"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods}


def is_certified_by(authority: str, pod: dict[str, Any]) -> bool:
    """Whether the pod shows a certificate that somebody believes who trusts that authority alone."""
    metadata, [container] = pod["metadata"], pod["spec"]["containers"]
    service = metadata["name"].rpartition("-")[0]
    trusting = ssl.create_default_context(cadata=authority)
    address = pod["status"]["podIP"], container["ports"][0]["containerPort"]
    try:
        with socket.create_connection(address, 5) as raw:
            trusting.wrap_socket(
                raw, server_hostname=f"{metadata['name']}.{service}.{metadata['namespace']}.svc"
            ).close()
    except ssl.SSLCertVerificationError:
        return False
    return True


def test_drain_of_every_node_in_turn(installed: Installed, machines: Machines, traffic: Traffic, steps: Steps) -> None:
    for node in machines.names():
        if not machines.is_ready(node):
            continue
        machines.drain(node, timeout_s=180)
        steps.done(f"{node} drained: {felt_little(traffic)}")
        machines.uncordon(node)
        installed.wait_until_ready(timeout_s=120)
        steps.done(f"its pods are back: {felt_little(traffic)}")


def leaders(installed: Installed, name: str) -> Counter[int]:
    found = AdminClient(installed.librdkafka).list_topics(name, timeout=30).topics[name]
    return Counter(each.leader for each in found.partitions.values())


def replicas(installed: Installed) -> Counter[int]:
    found = AdminClient(installed.librdkafka).list_topics(timeout=30).topics.values()
    return Counter(node for each in found for partition in each.partitions.values() for node in partition.replicas)


def test_scale_up_and_down(installed: Installed, traffic: Traffic, steps: Steps) -> None:
    more = 4
    installed.change({"brokers": {"replicas": more}})
    wanted = f"{more}/{more}"
    installed.wait_until(
        "the brokers are ready", lambda: installed.resource["status"]["brokers"] == wanted, timeout_s=90
    )
    fresh = f"fresh-{more}"
    installed.cluster.apply(topic(fresh, partitions=12, replicationFactor=3, deletionPolicy="Delete"))
    installed.cluster.wait_for_condition("topic", fresh, "Ready", "True", timeout_s=60)
    led = leaders(installed, fresh)
    assert max(led.values()) <= 6, led
    steps.done(f"3 -> {more}, twelve partitions made right after are led by {dict(led)}: {felt_little(traffic)}")
    spread = f"the replicas are spread over {more} brokers"
    installed.wait_until(
        spread, lambda: installed.resource["status"]["scale"]["balancedBrokers"] == more, timeout_s=180
    )
    installed.wait_until_ready(timeout_s=60)
    steps.done(f"{spread}: {dict(replicas(installed))}; {felt_little(traffic)}")
    installed.change({"brokers": {"replicas": 3}})
    gone = f"{RELEASE}-broker-3"
    installed.wait_until("their pods are gone", lambda: gone not in installed.uids("broker"), timeout_s=240)
    assert all(replicas(installed)[node] == 0 for node in range(3, more))
    installed.wait_until_ready(timeout_s=90)
    steps.done(f"{more} -> 3: {felt_little(traffic)}")
    installed.cluster.kubectl("delete", "topic", fresh, timeout_s=60)
