"""The cluster itself, before anything of ours is on it: images start, names resolve, a local volume binds and keeps its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

VOLUME = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
MOUNTS = [{"name": "data", "mountPath": "/data"}]
AS_PRODUCT = {"runAsUser": 10001, "runAsGroup": 10001, "fsGroup": 10001, "runAsNonRoot": True}


@pytest.mark.parametrize("role", ["broker", "controller", "coordinator", "operator"])
def test_an_image_starts_as_its_own_user(cluster: Any, pod: Callable[..., Any], role: str) -> None:
    code = f"import os, sys, millstream_{role}; print(sys.version_info >= (3, 11), os.getuid())"
    cluster.apply(pod(f"image-{role}", cluster.image(role), ["python", "-c", code]))
    assert cluster.wait_for_end(f"image-{role}").split() == ["True", "10001"]


def test_names_of_services_resolve_and_others_do_not(cluster: Any, pod: Callable[..., Any]) -> None:
    code = (
        "import socket; print(socket.gethostbyname('kubernetes.default.svc.cluster.local'))\n"
        "try: print(socket.gethostbyname('no-such-name.invalid'))\n"
        "except OSError: print('unknown')"
    )
    cluster.apply(pod("names", cluster.image("broker"), ["python", "-c", code]))
    address, unknown = cluster.wait_for_end("names").split()
    assert address == cluster.kubectl(
        "-n", "default", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"
    )
    assert unknown == "unknown"


def test_a_local_volume_binds_and_keeps_its_data(cluster: Any, pod: Callable[..., Any]) -> None:
    claim: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if cluster.storage_class:
        claim["storageClassName"] = cluster.storage_class
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim})
    for name, code in (("writes", "open('/data/x', 'w').write('kept')"), ("reads", "print(open('/data/x').read())")):
        spec = {"mounts": MOUNTS, "volumes": VOLUME, "securityContext": AS_PRODUCT}
        cluster.apply(pod(name, cluster.image("broker"), ["python", "-c", code], **spec))
        log = cluster.wait_for_end(name)
    assert log.strip() == "kept"
