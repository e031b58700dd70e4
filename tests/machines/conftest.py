"""The nodes that `run` brought up, the chart installed there, and clients that go on through every scenario."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from installed import Installed
from kubectl import PATIENCE, Cluster, make_namespace
from machines import Machines
from product import RELEASE, install, topic
from steps import Steps
from traffic import PARTITIONS, Traffic

NAMESPACE = "machines"
CONFIG = {r"min\.insync\.replicas": "2"}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    cluster = Cluster(NAMESPACE)
    installed = Installed(cluster)
    if cluster.get("namespace", NAMESPACE) is None:
        make_namespace(cluster, NAMESPACE)
    if RELEASE not in cluster.helm("list", "--all", "--short").split():
        install(cluster, **{f"cluster.config.{key}": value for key, value in CONFIG.items()})
    installed.wait_until_ready(timeout_s=120)
    names = [f"{RELEASE}-broker-{number}.{RELEASE}-broker.{NAMESPACE}.svc:9092" for number in range(3)]
    installed.log_in(tmp_path_factory.mktemp("user"), ",".join(names))
    yield installed
    for role in ("operator", "controller", "broker", "coordinator"):
        for pod in Machines(cluster).pods_of(role):
            name = pod["metadata"]["name"]
            print(
                f"--- {name}\n{cluster.kubectl('logs', name, '--tail=60', check=False)}"[: 6000 * int(max(PATIENCE, 1))]
            )


@pytest.fixture
def machines(installed: Installed) -> Machines:
    return Machines(installed.cluster)


@pytest.fixture
def steps(request: pytest.FixtureRequest) -> Steps:
    return Steps(request.config)


@pytest.fixture
def traffic(installed: Installed, request: pytest.FixtureRequest, steps: Steps) -> Iterator[Traffic]:
    """Through a whole scenario, judged at its end."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:40].strip("-")
    names = f"{name}-{int(time.time())}-in", f"{name}-{int(time.time())}-out"
    topics = [topic(each, partitions=PARTITIONS, replicationFactor=3, deletionPolicy="Delete") for each in names]
    installed.wait_until_ready(timeout_s=120)
    installed.cluster.apply(*topics)
    for each in names:
        installed.cluster.wait_for_condition("topic", each, "Ready", "True", timeout_s=60)
    running = Traffic(installed.librdkafka, *names)
    try:
        installed.wait_until("everybody has begun", lambda: running.flows, timeout_s=60)
        running.away()
        steps.done("clients run")
        yield running
        steps.done(running.end())
        installed.cluster.kubectl("delete", "topic", *names, timeout_s=60)
    finally:
        running.stop()
