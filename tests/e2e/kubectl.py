"""A Kubernetes cluster behind kubectl and helm, and waits that explain themselves when they time out.

Tests see the cluster only through its API: what a user could not do with kubectl and helm, they may not do either.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from millstream_runtime import VERSION

T = TypeVar("T")
Manifest = Mapping[str, Any]

ROOT = Path(__file__).resolve().parents[2]
POLL_SECONDS = 0.5
PATIENCE = float(os.environ.get("MILLSTREAM_E2E_PATIENCE", "1"))
"""How many times longer everything may take: more than 1 on a machine that is busy with other things."""


class CommandFailed(AssertionError):
    """A command ended with a status other than 0."""


class Cluster:
    """kubectl and helm in one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.storage_class = os.environ.get("MILLSTREAM_E2E_STORAGE_CLASS", "")
        self.registry = os.environ.get("MILLSTREAM_E2E_REGISTRY", "")
        self.version = VERSION

    def image(self, role: str) -> str:
        name = f"millstream-{role}:{self.version}"
        return f"{self.registry}/{name}" if self.registry else name

    def run(self, *command: str, stdin: str | None = None, timeout_s: float = 60, check: bool = True) -> str:
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=timeout_s * PATIENCE, check=False
        )
        if check and done.returncode != 0:
            raise CommandFailed(f"{' '.join(command)}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout if check else done.stdout + done.stderr

    def kubectl(self, *words: str, stdin: str | None = None, timeout_s: float = 60, check: bool = True) -> str:
        return self.run("kubectl", "-n", self.namespace, *words, stdin=stdin, timeout_s=timeout_s, check=check)

    def helm(self, *words: str, timeout_s: float = 300) -> str:
        return self.run("helm", "-n", self.namespace, *words, timeout_s=timeout_s)

    def apply(self, *manifests: Manifest) -> None:
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(items))

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """The object, or None where there is none."""
        text = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def list(self, kind: str, selector: str = "") -> list[dict[str, Any]]:
        words = ["get", kind, "-o", "json", *(["-l", selector] if selector else [])]
        items: list[dict[str, Any]] = json.loads(self.kubectl(*words))["items"]
        return items

    def ready_pods(self, selector: str) -> list[dict[str, Any]]:
        return [pod for pod in self.list("pods", selector) if ready_pod(pod)]

    def execute(self, pod: str, *command: str, stdin: str | None = None, timeout_s: float = 60) -> str:
        interactive = ["-i"] if stdin is not None else []
        return self.kubectl("exec", *interactive, pod, "--", *command, stdin=stdin, timeout_s=timeout_s)

    def wait_until(self, what: str, probe: Callable[[], T | None], timeout_s: float) -> T:
        """What the probe returns once it is neither None nor False; the cluster's state in the failure if it never is."""
        deadline = time.monotonic() + timeout_s * PATIENCE
        problem = ""
        while True:
            try:
                found = probe()
                if found is not None and found is not False:
                    return found
            except CommandFailed as failure:
                problem = str(failure)
            if time.monotonic() >= deadline:
                pytest.fail(f"not within {timeout_s} s: {what}\n{problem}\n{self.explain()}", pytrace=False)
            time.sleep(POLL_SECONDS)

    def wait_for_pod(self, name: str, timeout_s: float = 60) -> dict[str, Any]:
        """The pod once it is ready."""
        return self.wait_until(f"pod {name} is ready", lambda: ready_pod(self.get("pod", name)), timeout_s)

    def wait_for_end(self, name: str, timeout_s: float = 60) -> str:
        """The log of a pod once it succeeded."""

        def ended() -> str | None:
            pod = self.get("pod", name)
            phase = pod["status"]["phase"] if pod else "absent"
            if phase == "Failed":
                pytest.fail(f"pod {name} failed\n{self.explain()}", pytrace=False)
            return self.kubectl("logs", name) if phase == "Succeeded" else None

        return self.wait_until(f"pod {name} succeeded", ended, timeout_s)

    def wait_for_condition(self, kind: str, name: str, condition: str, status: str, timeout_s: float) -> dict[str, Any]:
        """The object once its status has the condition."""

        def holds() -> dict[str, Any] | None:
            found = self.get(kind, name)
            conditions = (found or {}).get("status", {}).get("conditions", [])
            wanted = [each for each in conditions if each["type"] == condition and each["status"] == status]
            return found if wanted else None

        return self.wait_until(f"{kind} {name} has {condition}={status}", holds, timeout_s)

    def explain(self) -> str:
        """All that helps to understand a failure: objects, events, the last lines of every container."""
        parts = [self.kubectl("get", "all,pvc,topics,consumergroups,users,clusters", "-o", "wide", check=False)]
        parts.append(self.kubectl("get", "events", "--sort-by=.lastTimestamp", check=False)[-4000:])
        for pod in self.list("pods"):
            name = pod["metadata"]["name"]
            parts.append(
                f"--- log of {name}\n{self.kubectl('logs', name, '--all-containers', '--tail=30', check=False)}"
            )
            if any(each.get("restartCount") for each in pod["status"].get("containerStatuses", [])):
                previous = self.kubectl("logs", name, "--previous", "--tail=30", check=False)
                parts.append(f"--- log of {name} before its last restart\n{previous}")
        return "\n".join(parts)


def ready_pod(pod: dict[str, Any] | None) -> dict[str, Any] | None:
    if pod is None or "deletionTimestamp" in pod["metadata"]:
        return None
    conditions = pod["status"].get("conditions", [])
    return pod if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions) else None


def make_namespace(cluster: Cluster, name: str, level: str = "restricted") -> None:
    """As a platform team makes them: the API server refuses pods that may do more than they need."""
    labels = {"pod-security.kubernetes.io/enforce": level}
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    cluster.run("kubectl", "create", "-f", "-", stdin=json.dumps(manifest))
