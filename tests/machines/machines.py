"""The machines below the cluster: switched off, cut off, emptied, drained."""

from __future__ import annotations

from typing import Any

from kubectl import ROOT, Cluster, ready_pod
from product import RELEASE

MACHINE = str(ROOT / "tests/e2e/node/machine")


class Machines:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def do(self, what: str, name: str) -> None:
        """As `machine` says it: cut, join, wipe."""
        self._cluster.run(MACHINE, what, name, timeout_s=120)

    def names(self) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self._cluster.list("nodes"))

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


def broker(number: int) -> str:
    return f"{RELEASE}-broker-{number}"
