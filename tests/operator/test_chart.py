"""The chart's hooks: `helm test`, and an upgrade that brings the definitions of the resources up to date."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml
from kubectl import ROOT
from kubelet import RELEASE
from scene import Scene

CHART = str(ROOT / "charts/millstream")
DEFINITION = "topics.millstream.dev"


def columns(scene: Scene) -> list[str]:
    found: dict[str, Any] = json.loads(scene.cluster.run("kubectl", "get", "crd", DEFINITION, "-o", "json"))
    return [each["name"] for each in found["spec"]["versions"][0]["additionalPrinterColumns"]]


def test_helm_test_sees_a_cluster_that_is_ready(scene: Scene) -> None:
    assert "Phase:          Succeeded" in scene.cluster.helm("test", RELEASE, "--timeout", "200s")


def test_helm_upgrade_brings_definitions_up_to_date_and_exchanges_no_pod(scene: Scene) -> None:
    wanted, pods = columns(scene), scene.uids("broker")
    older = json.dumps([{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/3"}])
    scene.cluster.run("kubectl", "patch", "crd", DEFINITION, "--type=json", "-p", older)
    assert columns(scene) != wanted
    scene.cluster.helm("upgrade", RELEASE, CHART, "--reuse-values", "--timeout", "200s")
    assert columns(scene) == wanted
    assert scene.uids("broker") == pods
    left = scene.cluster.kubectl("get", "jobs,configmaps,serviceaccounts", "-o", "name")
    assert "definitions" not in left


def test_the_values_of_0_1_0_are_enough_for_an_upgrade(scene: Scene, tmp_path: Path) -> None:
    """`--reuse-values` takes them in place of this chart's, so that none of its newer ones has a default."""
    chart = shutil.copytree(CHART, tmp_path / "chart")
    shutil.copy(Path(__file__).with_name("values-0.1.0.yaml"), chart / "values.yaml")
    words = ("template", RELEASE, str(chart), "--is-upgrade", "--kube-version", "1.33.0")
    [cluster] = [each for each in yaml.safe_load_all(scene.cluster.helm(*words)) if each and each["kind"] == "Cluster"]
    assert "security" not in cluster["spec"], "a plain cluster stays one"
    assert "rebalance" not in cluster["spec"]["brokers"]
