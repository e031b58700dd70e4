"""From the chart of 0.1.0, which keeps one replica of each partition, to this one, back before the level is raised, and on again, under clients."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from installed import Installed
from kubectl import Cluster, make_namespace
from product import CHART, RELEASE, install, topic
from steps import Steps
from traffic import PARTITIONS, Traffic

OLD = "0.1.0"
OLD_CHART = Path(os.environ.get("MILLSTREAM_OLD_RELEASE", "")) / "charts/millstream"
NAMESPACE = "upgrade"


@pytest.fixture
def old() -> Installed:
    cluster = Cluster(NAMESPACE)
    definitions = [name for name in cluster.run("kubectl", "get", "crd", "-o", "name").split() if "millstream" in name]
    if definitions:
        # Helm makes them once and never touches them again; nobody uses them any more.
        cluster.run("kubectl", "delete", *definitions)
    make_namespace(cluster, NAMESPACE, level="baseline")
    install(cluster, chart=str(OLD_CHART))
    installed = Installed(cluster)
    names = [f"{RELEASE}-broker-{number}.{RELEASE}-broker.{NAMESPACE}.svc:9092" for number in range(3)]
    installed.librdkafka = {"bootstrap.servers": ",".join(names)}
    installed.wait_until("it is Ready", lambda: installed.condition("Ready")["status"] == "True", timeout_s=120)
    return installed


def test_upgrade_and_back(old: Installed, steps: Steps) -> None:
    cluster = old.cluster
    names = "upgrade-in", "upgrade-out"
    cluster.apply(*(topic(name, partitions=PARTITIONS, replicationFactor=1) for name in names))
    for name in names:
        cluster.wait_for_condition("topic", name, "Ready", "True", timeout_s=60)
    traffic = Traffic(old.librdkafka, *names)
    try:
        old.wait_until("everybody has begun", lambda: traffic.flows, timeout_s=60)
        traffic.away()
        steps.done(f"clients run on {OLD}")
        for tag in (cluster.version, OLD, cluster.version):
            give(old, tag)
            steps.done(f"every process is of {tag}: {traffic.away()}")
        steps.done(traffic.end())
    finally:
        traffic.stop()
    cluster.helm("uninstall", RELEASE, "--wait", "--timeout", "200s")


def give(installed: Installed, tag: str) -> None:
    """Another release to the cluster; the operator is of this one from the first time on."""
    tags = ("--set", f"images.tag={tag}", "--set", f"operator.imageTag={installed.cluster.version}")
    installed.cluster.helm("upgrade", RELEASE, CHART, "--reuse-values", *tags)

    def exchanged() -> bool:
        pods = installed.cluster.list("pods", "millstream.dev/role")
        return len(pods) == 7 and all(each["spec"]["containers"][0]["image"].endswith(f":{tag}") for each in pods)

    installed.wait_until(f"every pod is of {tag}", exchanged, timeout_s=300)
    installed.wait_until_ready(timeout_s=120)
