"""What people get wrong: the API server refuses what it can see, a condition says the rest, and nothing else waits for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kubectl import CommandFailed
from kubelet import RELEASE
from product import consumer_group, topic, user
from scene import Scene

WEBHOOK = "nobody-is-there"


def said(scene: Scene, kind: str, name: str) -> tuple[str, str]:
    """Reason and message of Ready."""
    conditions = ((scene.cluster.get(kind, name) or {}).get("status") or {}).get("conditions", ())
    return next(((each["reason"], each["message"]) for each in conditions if each["type"] == "Ready"), ("", ""))


def wait_for(scene: Scene, kind: str, name: str, reason: str) -> str:
    scene.wait_until(f"{kind} {name} is {reason}", lambda: said(scene, kind, name)[0] == reason, timeout_s=60)
    return said(scene, kind, name)[1]


@pytest.fixture
def wide(scene: Scene) -> Iterator[None]:
    scene.cluster.apply(topic("wide", partitions=4, replicationFactor=1))
    wait_for(scene, "topic", "wide", "AsDeclared")
    yield
    scene.cluster.kubectl("delete", "topic", "wide")


def test_partitions_that_would_become_fewer_stay(scene: Scene, wide: None) -> None:
    scene.cluster.apply(topic("wide", partitions=2, replicationFactor=1, config={"segment.ms": "70000"}))
    assert "4 there" in wait_for(scene, "topic", "wide", "PartitionsCannotShrink")
    found = scene.cluster.get("topic", "wide")
    assert found is not None
    assert found["status"]["partitions"]["total"] == 4


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"replicationFactor": 9}, "InvalidReplicationFactor", "9"),
        ({"config": {"retention.hours": "1"}}, "InvalidConfig", "retention.hours"),
        ({"config": {"retention.ms": "soon"}}, "InvalidConfig", "retention.ms"),
        ({"clusterRef": {"name": "gone"}}, "ClusterMissing", "no Cluster gone"),
        ({"clusterRef": {"name": RELEASE, "namespace": "elsewhere"}}, "NamespaceNotAllowed", "elsewhere"),
    ],
)
def test_a_topic_says_what_is_wrong_with_it(scene: Scene, spec: dict[str, Any], reason: str, words: str) -> None:
    scene.cluster.apply(topic("wrong", **{"partitions": 1, **spec}))
    try:
        assert words in wait_for(scene, "topic", "wrong", reason)
    finally:
        scene.cluster.kubectl("delete", "topic", "wrong", "--timeout=30s")


@pytest.mark.parametrize("name", [".", "..", "a b", "a/b", "x" * 250, ""])
def test_a_name_that_is_not_kafkas_is_refused(scene: Scene, name: str) -> None:
    with pytest.raises(CommandFailed, match="topicName"):
        scene.cluster.apply(topic("wrong", topicName=name))


def test_a_group_of_no_topic_and_no_cluster_says_so(scene: Scene) -> None:
    scene.cluster.apply(consumer_group("lost", topics=["nowhere"]))
    assert "nowhere" in wait_for(scene, "consumergroup", "lost", "TopicsMissing")
    scene.cluster.kubectl("delete", "consumergroup", "lost", "--timeout=30s")


def test_a_secret_of_somebody_else_stays_and_a_broken_one_is_made_again(scene: Scene) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "broken"},
        "stringData": {"password": "theirs"},
    }
    scene.cluster.apply(theirs, user("broken", [("Topic", "broken", ["Read"])]))
    assert "not of this resource" in wait_for(scene, "user", "broken", "Conflict")
    scene.cluster.kubectl("delete", "secret", "broken")
    wait_for(scene, "user", "broken", "AsDeclared")
    scene.cluster.kubectl("patch", "secret", "broken", "--type=merge", "-p", '{"data": {"password": "", "ca.crt": ""}}')

    def whole() -> bool:
        found = scene.cluster.get("secret", "broken")
        return found is not None and all(found["data"].get(key) for key in ("password", "ca.crt"))

    scene.wait_until("the Secret is whole", whole, timeout_s=90)
    wait_for(scene, "user", "broken", "AsDeclared")
    scene.cluster.kubectl("delete", "user", "broken", "--timeout=30s")


def test_a_webhook_that_is_not_there_holds_up_only_what_it_is_asked_about(scene: Scene) -> None:
    before = scene.resource["spec"]["externalListener"]
    service = {"name": WEBHOOK, "namespace": scene.cluster.namespace, "path": "/"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["services"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": scene.cluster.namespace}}
    webhook = {
        "name": f"{WEBHOOK}.example.com",
        "clientConfig": {"service": service},
        "rules": [rule],
        "namespaceSelector": selector,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 2,
    }
    metadata = {"name": WEBHOOK}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    manifest = json.dumps({**kind, "metadata": metadata, "webhooks": [webhook]})
    scene.cluster.run("kubectl", "apply", "-f", "-", stdin=manifest)
    try:
        scene.change({"externalListener": {"annotations": {"team": "streams"}}})
        assert WEBHOOK in wait_for(scene, "cluster", RELEASE, "ApplyFailed")
        scene.cluster.apply(topic("meanwhile", partitions=1))
        wait_for(scene, "topic", "meanwhile", "AsDeclared")
    finally:
        scene.cluster.run("kubectl", "delete", "validatingwebhookconfiguration", WEBHOOK)
    scene.wait_until_ready(timeout_s=120)
    scene.cluster.kubectl("delete", "topic", "meanwhile", "--timeout=30s")
    scene.change({"externalListener": {**before, "annotations": {"team": None}}})
