"""The Cluster as a person sees it, and the nodes below."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubectl import Cluster
from kubelet import RELEASE, Nodes
from kubernetes import client
from product import user


class Scene:
    def __init__(self, cluster: Cluster, core: client.CoreV1Api, nodes: Nodes) -> None:
        self.cluster = cluster
        self.core = core
        self.nodes = nodes
        self.clients: dict[str, str] = {}
        """With what kafka-python gets in."""

    def log_in(self, directory: Path) -> None:
        """As a User who may use every topic and every group."""
        of_topics = ["Read", "Write", "Create", "Delete", "Describe", "DescribeConfigs", "AlterConfigs"]
        everything = [("Topic", "*", of_topics), ("Group", "*", ["Read", "Describe"])]
        self.cluster.apply(user("tester", everything))
        self.cluster.wait_for_condition("user", "tester", "Ready", "True", timeout_s=60)
        secret = self.core.read_namespaced_secret("tester", self.cluster.namespace)
        files = {name: base64.b64decode(text) for name, text in secret.data.items()}
        (directory / "ca.crt").write_bytes(files["ca.crt"])
        self.clients = {
            "bootstrap_servers": f"{RELEASE}-bootstrap.{self.cluster.namespace}.svc:9092",
            "security_protocol": "SASL_SSL",
            "ssl_cafile": str(directory / "ca.crt"),
            "sasl_mechanism": files["sasl.mechanism"].decode(),
            "sasl_plain_username": files["username"].decode(),
            "sasl_plain_password": files["password"].decode(),
        }

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
        self.cluster.kubectl("patch", "cluster", RELEASE, "--type=merge", "-p", json.dumps({"spec": spec}))

    def wait_until(self, what: str, probe: Callable[[], Any], timeout_s: float) -> Any:
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
            # Kubernetes counts up the Events that it tells again; the operator only makes new ones.
            is_its_own = (resource, verb) == ("events", "PATCH")
            if resource in ours and verb in ("APPLY", "PATCH", "PUT", "POST", "DELETE") and not is_its_own:
                found[f"{verb} {resource}"] = found.get(f"{verb} {resource}", 0) + int(float(line.rsplit(" ", 1)[1]))
        return found
