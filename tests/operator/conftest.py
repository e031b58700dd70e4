"""The control plane that `run` brought up, nodes without containers, and the chart installed there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubectl import PATIENCE, Cluster, make_namespace
from kubelet import NAMESPACE, RELEASE, ROLES, Nodes
from kubernetes import client, config
from product import install


class Scene:
    """The cluster as a person sees it, and its nodes."""

    def __init__(self, cluster: Cluster, core: client.CoreV1Api, nodes: Nodes) -> None:
        self.cluster = cluster
        self.core = core
        self.nodes = nodes

    @property
    def resource(self) -> dict[str, Any]:
        found = self.cluster.get("cluster", RELEASE)
        assert found is not None
        return found

    def condition(self, type_: str) -> dict[str, Any]:
        conditions = self.resource.get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == type_), {"status": "", "reason": "", "message": ""})

    def change(self, spec: dict[str, Any]) -> None:
        """Merge into the Cluster's spec."""
        import json

        self.cluster.kubectl("patch", "cluster", RELEASE, "--type=merge", "-p", json.dumps({"spec": spec}))

    def wait_until(self, what: str, probe: Any, timeout_s: float) -> Any:
        def holds() -> Any:
            assert self.nodes.trouble is None, self.nodes.trouble
            return probe()

        return self.cluster.wait_until(what, holds, timeout_s)

    def wait_until_ready(self, timeout_s: float = 60) -> None:
        """Every pod of the newest template, every partition served."""

        def done() -> bool:
            return (self.condition("Ready")["status"], self.condition("Progressing")["reason"]) == ("True", "UpToDate")

        self.wait_until("the Cluster is Ready and up to date", done, timeout_s)

    def uids(self, role: str) -> dict[str, str]:
        pods = self.cluster.list("pods", f"millstream.dev/role={role}")
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}

    def reasons(self, kind: str = "Cluster") -> set[str]:
        """Of the Events there are."""
        events = self.cluster.list("events")
        return {each["reason"] for each in events if each["involvedObject"]["kind"] == kind}

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
            if resource in ours and verb in ("APPLY", "PATCH", "PUT", "POST", "DELETE"):
                found[f"{verb} {resource}"] = found.get(f"{verb} {resource}", 0) + int(float(line.rsplit(" ", 1)[1]))
        return found


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    config.load_kube_config()
    core = client.CoreV1Api()
    cluster = Cluster(NAMESPACE)
    make_namespace(cluster, NAMESPACE)
    images = {cluster.image(role) for role in (*ROLES, "operator")}
    directory = tmp_path_factory.mktemp("nodes")
    with Nodes(core, Path(directory), images).started() as nodes:
        scene = Scene(cluster, core, nodes)
        install(cluster, security__enabled="false")
        try:
            scene.wait_until_ready(timeout_s=90)
            yield scene
        finally:
            for name in ("operator", "broker-0", "controller-0", "controller-1"):
                print(f"--- {name}\n" + "\n".join(nodes.logs_like(name))[-6000 * int(max(PATIENCE, 1)) :])
