"""The chart's hooks: `helm test`, and an upgrade that brings the definitions of the resources up to date."""

from __future__ import annotations

import json
from typing import Any

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
