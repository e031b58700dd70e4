"""A Cluster that the chart installed, as a person sees it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kubectl import Cluster
from product import RELEASE, user

KAFKA_PYTHON = {
    "bootstrap.servers": "bootstrap_servers",
    "security.protocol": "security_protocol",
    "ssl.ca.location": "ssl_cafile",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}
"""What kafka-python calls librdkafka's settings."""


class Installed:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.clients: dict[str, str] = {}
        """With what kafka-python gets in."""
        self.librdkafka: dict[str, str] = {}
        """The same for confluent-kafka."""

    def log_in(self, directory: Path, bootstrap: str) -> None:
        """As a User who may use every topic, every group and every transactional id."""
        of_topics = ["Read", "Write", "Create", "Delete", "Describe", "DescribeConfigs", "AlterConfigs"]
        everything = [("Topic", "*", of_topics), ("Group", "*", ["Read", "Describe"])]
        everything.append(("TransactionalId", "*", ["Write", "Describe"]))
        self.cluster.apply(user("tester", everything))
        self.cluster.wait_for_condition("user", "tester", "Ready", "True", timeout_s=60)
        secret = self.cluster.get("secret", "tester")
        assert secret is not None
        files = {name: base64.b64decode(text) for name, text in secret["data"].items()}
        (directory / "ca.crt").write_bytes(files["ca.crt"])
        self.librdkafka = {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(directory / "ca.crt"),
            "sasl.mechanism": files["sasl.mechanism"].decode(),
            "sasl.username": files["username"].decode(),
            "sasl.password": files["password"].decode(),
        }
        self.clients = {name: self.librdkafka[key] for key, name in KAFKA_PYTHON.items()}

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
        return self.cluster.wait_until(what, probe, timeout_s)

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
