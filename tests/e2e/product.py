"""The product as these tests install and use it: the chart, resources by kind, and a pod with unmodified clients."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = Path(__file__).resolve().parent / "clients"
CHART = str(ROOT / "charts/millstream")
RELEASE = "millstream"
BOOTSTRAP = f"{RELEASE}-bootstrap:9092"
SMALL = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}}
KINDS = ("operator", "controller", "coordinator", "broker")

Record = tuple[int, int, str, str]
"""Partition, offset, key, value."""


def records_of(lines: str) -> list[Record]:
    return [tuple(json.loads(line)) for line in lines.splitlines() if line.startswith("[")]


def topic(name: str, **spec: Any) -> dict[str, Any]:
    body = {"clusterRef": {"name": RELEASE}, **spec}
    return {"apiVersion": "millstream.dev/v1alpha1", "kind": "Topic", "metadata": {"name": name}, "spec": body}


def consumer_group(name: str, **spec: Any) -> dict[str, Any]:
    body = {"clusterRef": {"name": RELEASE}, **spec}
    return {"apiVersion": "millstream.dev/v1alpha1", "kind": "ConsumerGroup", "metadata": {"name": name}, "spec": body}


def user(name: str, acls: Sequence[tuple[str, str, Sequence[str]]], **spec: Any) -> dict[str, Any]:
    """`acls`: type of resource, name (a prefix if it ends in *), operations."""
    rules = [
        {
            "resourceType": kind,
            "name": what.removesuffix("*") or "*",
            "patternType": "Prefixed" if what.endswith("*") and what != "*" else "Literal",
            "operations": list(operations),
        }
        for kind, what, operations in acls
    ]
    body = {"clusterRef": {"name": RELEASE}, "authorization": {"acls": rules}, **spec}
    return {"apiVersion": "millstream.dev/v1alpha1", "kind": "User", "metadata": {"name": name}, "spec": body}


def client_pod(cluster: Any, pod: Callable[..., Any], name: str = "client", secret: str = "") -> Client:
    """A pod with unmodified Kafka clients that logs in by the Secret of a User, if one is named."""
    programs = {path.name: path.read_text() for path in CLIENTS.glob("*.py")}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "clients"}, "data": programs}
    volumes: list[dict[str, Any]] = [{"name": "clients", "configMap": {"name": "clients"}}]
    mounts = [{"name": "clients", "mountPath": "/clients"}]
    if secret:
        volumes.append({"name": "user", "secret": {"secretName": secret, "defaultMode": 0o444}})
        mounts.append({"name": "user", "mountPath": "/user", "readOnly": True})
    cluster.apply(config, pod(name, cluster.image("client"), ["sleep", "infinity"], mounts=mounts, volumes=volumes))
    cluster.wait_for_pod(name)
    return Client(cluster, name)


class Client:
    """The programs of `clients/` in such a pod."""

    def __init__(self, cluster: Any, pod: str) -> None:
        self._cluster = cluster
        self.pod = pod

    def run(self, program: str, *arguments: str, timeout_s: float = 120) -> list[Any]:
        words = ("python", f"/clients/{program}.py", *arguments)
        return records_of(self._cluster.execute(self.pod, *words, timeout_s=timeout_s))

    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """The same in the background; `finish` ends it."""
        words = ["kubectl", "-n", self._cluster.namespace, "exec", self.pod, "--"]
        words += ["python", f"/clients/{program}.py", *arguments]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str], timeout_s: float) -> list[Record]:
        out, err = process.communicate(timeout=timeout_s)
        assert process.returncode == 0, f"{process.args!r}\n{err}\n{self._cluster.explain()}"
        return records_of(out)

    def kcat(self, *words: str) -> str:
        settings = "python /clients/login.py > /tmp/kcat.conf"
        script = f'{settings}; kcat -F /tmp/kcat.conf "$@" 2> /tmp/kcat.err || {{ cat /tmp/kcat.err >&2; exit 1; }}'
        return str(self._cluster.execute(self.pod, "sh", "-c", script, "kcat", "-b", BOOTSTRAP, *words))


def install(cluster: Any, chart: str = CHART, **more: str) -> None:
    """helm install with volumes of this cluster and small pods; `more` are values with `__` for dots."""
    values = {
        "images.registry": cluster.registry,
        "broker.storage.className": cluster.storage_class,
        "broker.storage.size": "1Gi",
        "broker.storage.whenDeleted": "Delete",
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    settings = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    for kind in KINDS:
        settings += ["--set-json", f"{kind}.resources={json.dumps(SMALL)}"]
    cluster.helm("install", RELEASE, chart, *settings)


def uninstall(cluster: Any) -> None:
    """A failed step must not leave a release, whose resources outlive their namespace, behind."""
    if RELEASE in cluster.helm("list", "--all", "--short").split():
        cluster.run("helm", "-n", cluster.namespace, "uninstall", RELEASE, "--wait", timeout_s=240, check=False)
