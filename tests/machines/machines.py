"""The machines below the cluster: switched off, cut off, emptied, drained."""

from __future__ import annotations

import os
import signal
import urllib.request
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from installed import Installed
from kubectl import ROOT, Cluster, ready_pod
from product import RELEASE

MACHINE = str(ROOT / "tests/e2e/node/machine")
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"


class Machines:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def do(self, what: str, name: str) -> None:
        """As `machine` says it: start, kill, cut, join, wipe."""
        self._cluster.run(MACHINE, what, name, timeout_s=120)

    def api_server(self, what: str) -> None:
        """stop, start."""
        self._cluster.run(MACHINE, "api", what, timeout_s=30)

    def names(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self._cluster.list("nodes"))

    def another(self) -> str:
        """The name of a node that is not there."""
        return f"node-{max(int(each.rpartition('-')[2]) for each in self.names()) + 1}"

    def node_of(self, pod: str) -> str:
        found = self._cluster.get("pod", pod)
        assert found is not None
        return str(found["spec"]["nodeName"])

    def is_ready(self, name: str) -> bool:
        found = self._cluster.get("node", name)
        return found is not None and ready_pod(found) is not None

    def wait_until(self, name: str, *, ready: bool, timeout_s: float = 120) -> None:
        what = f"{name} is {'ready' if ready else 'missed'}"
        self._cluster.wait_until(what, lambda: self.is_ready(name) is ready, timeout_s)

    def drain(self, name: str, timeout_s: int) -> None:
        words = ("--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={timeout_s}s")
        self._cluster.kubectl("drain", name, *words, timeout_s=timeout_s + 10)

    def uncordon(self, name: str) -> None:
        self._cluster.kubectl("uncordon", name)

    def pods_of(self, role: str) -> list[dict[str, Any]]:
        label = f"millstream.dev/role={role}" if role != "operator" else "app.kubernetes.io/name=millstream-operator"
        return sorted(self._cluster.list("pods", label), key=lambda pod: str(pod["metadata"]["name"]))

    def kill_pod(self, name: str) -> None:
        self._cluster.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")

    def kill_process(self, pod: str) -> None:
        """Without asking Kubernetes, which starts the container again: the nodes' processes are below the control plane's."""
        for each in Path("/proc").iterdir():
            if each.name.isdigit() and is_service_of(each, pod):
                os.kill(int(each.name), signal.SIGKILL)
                return
        raise AssertionError(f"no process of {pod} here")

    def active_controller(self) -> str:
        for pod in self.pods_of("controller"):
            with urllib.request.urlopen(f"http://{pod['status']['podIP']}:9095/metrics", timeout=5) as answer:
                if "\nmillstream_active_controller 1" in answer.read().decode():
                    return str(pod["metadata"]["name"])
        raise AssertionError("no controller is active")


def is_service_of(process: Path, pod: str) -> bool:
    try:
        return f"POD_NAME={pod}".encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended since
        return False


def in_sync(installed: Installed) -> bool:
    """Whether every partition has as many replicas in sync as it has."""
    found = AdminClient(installed.librdkafka).list_topics(timeout=30).topics.values()
    return all(len(part.isrs) == len(part.replicas) for each in found for part in each.partitions.values())


def broker(number: int) -> str:
    return f"{RELEASE}-broker-{number}"
