"""What every end-to-end test works with: the cluster that `tests/e2e/run` brought up, or the one KUBECONFIG names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from kubectl import Cluster, Manifest, make_namespace
from steps import Steps


@pytest.fixture(scope="module")
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for each module of tests, gone with all it holds afterwards."""
    name = "e2e-" + Path(str(request.path)).stem.removeprefix("test_").replace("_", "-")
    cluster = Cluster(name)
    make_namespace(cluster, name)
    yield name
    cluster.run("kubectl", "delete", "namespace", name, "--wait=true", timeout_s=180)


@pytest.fixture(scope="module")
def cluster(namespace: str) -> Cluster:
    return Cluster(namespace)


@pytest.fixture(scope="module")
def steps(request: pytest.FixtureRequest) -> Steps:
    return Steps(request.config)


def pod_manifest(name: str, image: str, command: Sequence[str], **spec: Any) -> Manifest:
    """A small pod that runs once."""
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "volumeMounts": spec.pop("mounts", []),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    security |= spec.pop("securityContext", {})
    body = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container], **spec}
    body |= {"securityContext": security, "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}


@pytest.fixture(scope="session", name="pod")
def pod_factory() -> Callable[..., Manifest]:
    return pod_manifest
