"""The Cluster as a person sees it, and the nodes below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from installed import Installed
from kubectl import Cluster
from kubelet import Nodes
from kubernetes import client


class Scene(Installed):
    def __init__(self, cluster: Cluster, core: client.CoreV1Api, nodes: Nodes) -> None:
        super().__init__(cluster)
        self.core = core
        self.nodes = nodes

    def wait_until(self, what: str, probe: Callable[[], Any], timeout_s: float) -> Any:
        def holds() -> Any:
            assert self.nodes.trouble is None, self.nodes.trouble
            return probe()

        return super().wait_until(what, holds, timeout_s)

    def writes(self) -> dict[str, int]:
        """How often each kind of what a Cluster owns, or ours, was written, as the API server counts."""
        ours = ("clusters", "topics", "statefulsets", "services", "serviceaccounts", "poddisruptionbudgets", "roles")
        ours += ("rolebindings", "networkpolicies", "events", "secrets", "pods")
        found: dict[str, int] = {}
        for line in self.cluster.run("kubectl", "get", "--raw", "/metrics").splitlines():
            if not line.startswith("apiserver_request_total{"):
                continue
            labels = dict(each.split("=", 1) for each in line[24 : line.rindex("}")].split(","))
            resource, verb = labels["resource"].strip('"'), labels["verb"].strip('"')
            # Kubernetes counts up the Events that it tells again; the operator only makes new ones.
            is_its_own = (resource, verb) == ("events", "PATCH")
            if resource in ours and verb in ("APPLY", "PATCH", "PUT", "POST", "DELETE") and not is_its_own:
                found[f"{verb} {resource}"] = found.get(f"{verb} {resource}", 0) + int(float(line.rsplit(" ", 1)[1]))
        return found
