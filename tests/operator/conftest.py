"""The control plane that `run` brought up, nodes without containers, and the chart installed there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubectl import PATIENCE, Cluster, make_namespace
from kubelet import NAMESPACE, NODES, RELEASE, ROLES, Nodes
from kubernetes import client, config
from product import install
from scene import Scene


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    config.load_kube_config()
    core = client.CoreV1Api()
    cluster = Cluster(NAMESPACE)
    make_namespace(cluster, NAMESPACE)
    images = {cluster.image(role) for role in (*ROLES, "operator", "console")}
    directory = tmp_path_factory.mktemp("nodes")
    with Nodes(core, Path(directory), images).started() as nodes:
        scene = Scene(cluster, core, nodes)
        install(cluster, externalListener__domain=NODES, externalListener__type="NodePort")
        try:
            scene.wait_until_ready(timeout_s=90)
            scene.log_in(Path(directory), f"{RELEASE}-bootstrap.{NAMESPACE}.svc:9092")
            yield scene
        finally:
            for name in ("operator", "broker-0", "controller-0", "controller-1", "coordinator-0"):
                print(f"--- {name}\n" + "\n".join(nodes.logs_like(name))[-6000 * int(max(PATIENCE, 1)) :])
