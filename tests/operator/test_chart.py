"""The chart's hooks: `helm test`, and an upgrade that brings the definitions of the resources up to date."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml
from kubectl import ROOT
from kubelet import RELEASE, ROLES
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


def test_stateful_sets_that_exchange_their_pods_by_themselves_are_stopped(scene: Scene) -> None:
    """As those of 0.1.0 do, where the API server filled in how: what is only applied keeps that, and is refused for it."""
    rolling = json.dumps({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}}})
    for role in ROLES:
        scene.cluster.kubectl("patch", "statefulset", f"{RELEASE}-{role}", "--type=merge", "-p", rolling)
    scene.change({"brokers": {"rebalance": {"bytesPerSecond": 50_000_000}}})

    def are_stopped() -> bool:
        return all(each["spec"]["updateStrategy"] == {"type": "OnDelete"} for each in scene.cluster.list("statefulset"))

    scene.wait_until("the operator alone exchanges pods", are_stopped, timeout_s=60)
    scene.wait_until_ready(timeout_s=60)


def test_the_values_of_0_1_0_are_enough_for_an_upgrade(scene: Scene, tmp_path: Path) -> None:
    """`--reuse-values` takes them in place of this chart's, so that none of its newer ones has a default."""
    chart = shutil.copytree(CHART, tmp_path / "chart")
    shutil.copy(Path(__file__).with_name("values-0.1.0.yaml"), chart / "values.yaml")
    words = ("template", RELEASE, str(chart), "--is-upgrade", "--kube-version", "1.33.0")
    [cluster] = [each for each in yaml.safe_load_all(scene.cluster.helm(*words)) if each and each["kind"] == "Cluster"]
    assert "security" not in cluster["spec"], "a plain cluster stays one"
    assert "rebalance" not in cluster["spec"]["brokers"]


ARCHIVE: dict[str, Any] = {
    "name": "archive-orders",
    "job": "archive",
    "arguments": ["--topic=orders", "--output=/lake/orders", "--trigger=10s"],
    "user": "archiver",
    "acls": [{"resourceType": "Topic", "name": "orders", "operations": ["Read", "Describe", "DescribeConfigs"]}],
    "volumes": [{"claim": "lake", "path": "/lake"}],
    "executors": 2,
    "settings": {"spark.executor.cores": 2},
}
AUDIT: dict[str, Any] = {
    "name": "audit-orders",
    "job": "audit",
    "arguments": ["--topic=orders", "--lake=/lake/orders"],
    "schedule": "17 * * * *",
    "volumes": [{"claim": "lake", "path": "/lake"}],
}


def test_sparks_jobs_are_taken_by_the_api_server_and_get_no_more_rights_than_they_need(scene: Scene) -> None:
    jobs = f"spark.jobs={json.dumps([ARCHIVE, AUDIT])}"
    words = ("--show-only=templates/spark.yaml", "--set-json", jobs)
    made = scene.cluster.helm("template", RELEASE, CHART, "--kube-version=1.33.0", *words)
    answer = scene.cluster.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-", stdin=made
    )
    found = {(each["kind"], each["metadata"]["name"]): each for each in json.loads(answer)["items"]}
    archive, audit = f"{RELEASE}-archive-orders", f"{RELEASE}-audit-orders"
    both = {(kind, name) for kind in ("ConfigMap", "ServiceAccount", "NetworkPolicy") for name in (archive, audit)}
    own = {
        ("StatefulSet", archive),
        ("Role", archive),
        ("RoleBinding", archive),
        ("User", "archiver"),
        ("CronJob", audit),
    }
    assert found.keys() == both | own
    rules = found["Role", archive]["rules"]
    assert {what for rule in rules for what in rule["resources"]} == {"pods", "configmaps"}
    assert found["StatefulSet", archive]["spec"]["replicas"] == 1
    assert found["CronJob", audit]["spec"]["concurrencyPolicy"] == "Forbid"
    assert found["CronJob", audit]["spec"]["jobTemplate"]["spec"]["podReplacementPolicy"] == "Failed"
    streaming = found["StatefulSet", archive]["spec"]["template"]["spec"]
    bounded = found["CronJob", audit]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert (streaming["automountServiceAccountToken"], bounded["automountServiceAccountToken"]) == (True, False)
    assert bounded["containers"][0]["args"] == ["audit", *AUDIT["arguments"]]
    settings = found["ConfigMap", archive]["data"]["spark.properties"].splitlines()
    assert settings[-1] == "spark.executor.cores=2"
