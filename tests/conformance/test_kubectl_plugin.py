"""`kubectl millstream`: a node that is known by names of Kubernetes alone is reached through forwards, and by nothing else."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import recorded_kubectl
import servers

TIMEOUT_S = 300
ADVERTISED = "shop-broker-0.shop-broker.team.svc"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """With a kubectl that knows the node as the pod of a Cluster."""
    directory = tmp_path_factory.mktemp("node")
    port = servers.free_port()
    advertised = f"advertised.listeners=PLAINTEXT://{ADVERTISED}:9092"
    with servers.node(directory, advertised, port=port, more=["--no-console"]):
        told: dict[str, Any] = {
            "port": port,
            "users.millstream.dev": [],
            "clusters.millstream.dev": [
                {"metadata": {"name": "shop"}, "spec": {}, "status": {"bootstrap": "shop-bootstrap.team.svc:9092"}}
            ],
            "pods": [
                {
                    "metadata": {"name": "shop-broker-0"},
                    "spec": {"containers": [{"args": ["--set", advertised.replace("shop-broker-0.", "$(POD_NAME).")]}]},
                    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
                }
            ],
        }
        answers = directory / "answers.json"
        answers.write_text(json.dumps(told))
        kubectl = directory / "bin" / "kubectl"
        kubectl.parent.mkdir()
        kubectl.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{recorded_kubectl.__file__}" "{answers}" "$@"\n')
        kubectl.chmod(0o755)
        yield {**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}


def run(environment: dict[str, str], *arguments: str, stdin: str = "", code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "millstream.kubectl.main", *arguments],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_what_asks_a_cluster_works_through_forwards(environment: dict[str, str], topic: str) -> None:
    run(environment, "topic", "create", topic, "--partitions", "2")
    run(environment, "produce", topic, stdin="one\ntwo\n")
    read = run(environment, "--cluster", "shop", "consume", topic, "--group", "g", "--values")
    assert sorted(read.split()) == ["one", "two"]


def test_what_cannot_be_found_or_asks_nobody_is_said(environment: dict[str, str], tmp_path: Path) -> None:
    assert "there is no cluster lake" in run(environment, "--cluster", "lake", "topic", "list", code=1)
    assert "use millstream node" in run(environment, "node", code=1)
    assert "use millstream" in run(environment, "topic", "list", "--bootstrap", "127.0.0.1:9092", code=1)
    assert "kubectl is not on the PATH" in run({**environment, "PATH": str(tmp_path)}, "topic", "list", code=1)
