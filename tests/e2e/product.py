"""The product as these tests install and use it: the chart, resources by kind, and a pod with unmodified clients."""

from __future__ import annotations

import json
import subprocess
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


class Client:
    """A pod with unmodified Kafka clients; programs reach it by standard input."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def run(self, program: str, *arguments: str, timeout_s: float = 120) -> list[Any]:
        source = (CLIENTS / f"{program}.py").read_text()
        words = ("python", "-", *arguments)
        return records_of(self._cluster.execute("client", *words, stdin=source, timeout_s=timeout_s))

    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """The same in the background; `finish` ends it."""
        words = ["kubectl", "-n", self._cluster.namespace, "exec", "-i", "client", "--", "python", "-", *arguments]
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        process.stdin.write((CLIENTS / f"{program}.py").read_text())
        process.stdin.close()
        process.stdin = None
        return process

    def finish(self, process: subprocess.Popen[str], timeout_s: float) -> list[Record]:
        out, err = process.communicate(timeout=timeout_s)
        assert process.returncode == 0, f"{process.args!r}\n{err}\n{self._cluster.explain()}"
        return records_of(out)

    def kcat(self, *words: str, stdin: str | None = None) -> str:
        return str(self._cluster.execute("client", "kcat", "-b", BOOTSTRAP, *words, stdin=stdin))


def install(cluster: Any, **more: str) -> None:
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
    cluster.helm("install", RELEASE, CHART, *settings)


def uninstall(cluster: Any) -> None:
    """A failed step must not leave a release, whose resources outlive their namespace, behind."""
    if RELEASE in cluster.helm("list", "--all", "--short").split():
        cluster.run("helm", "-n", cluster.namespace, "uninstall", RELEASE, "--wait", timeout_s=240, check=False)
