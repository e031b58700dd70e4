"""What nobody may do: who is refused by the chart as it comes, and how far the operator's hand reaches.

The tests of this module are the steps of one scenario, in order; each finds what those before it left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubectl import CommandFailed, make_namespace
from product import CHART, RELEASE, Client, consumer_group, install, topic, uninstall

BEYOND = ("kube-system", "default")
MIGHTY = (
    "create statefulsets.apps",
    "create rolebindings.rbac.authorization.k8s.io",
    "get secrets",
    "list topics.millstream.dev",
)


@pytest.fixture(scope="module")
def tenant(cluster: Any) -> Iterator[Any]:
    """Another team's namespace, which the operator looks after as well."""
    name = f"{cluster.namespace}-tenant"
    make_namespace(cluster, name)
    yield type(cluster)(name)
    cluster.run("kubectl", "delete", "namespace", name, "--ignore-not-found", timeout_s=120)


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: Any, tenant: Any, steps: Any) -> Iterator[None]:
    install(
        cluster,
        broker__replicas="1",
        controller__replicas="1",
        coordinator__replicas="1",
        operator__namespaces=f"{{{tenant.namespace}}}",
        **{"cluster.config.num\\.partitions": "4"},
    )
    cluster.wait_for_condition("cluster", RELEASE, "Ready", "True", timeout_s=180)
    steps.done("helm install into namespaces that enforce the restricted level: the Cluster is Ready")
    yield
    uninstall(cluster)


@pytest.fixture(scope="module")
def client(cluster: Any, pod: Callable[..., Any]) -> Client:
    cluster.apply(pod("client", cluster.image("client"), ["sleep", "infinity"]))
    cluster.wait_for_pod("client")
    return Client(cluster)


def foreign(name: str, cluster: Any, manifest: dict[str, Any]) -> dict[str, Any]:
    """The resource as another namespace writes it."""
    manifest["metadata"]["name"] = name
    manifest["spec"]["clusterRef"] = {"name": RELEASE, "namespace": cluster.namespace}
    return manifest


def reason_of(cluster: Any, kind: str, name: str, status: str) -> tuple[str, str]:
    found = cluster.wait_for_condition(kind, name, "Ready", status, timeout_s=60)
    ready = next(each for each in found["status"]["conditions"] if each["type"] == "Ready")
    return ready["reason"], ready["message"]


def test_the_schema_names_a_wrong_value(cluster: Any) -> None:
    for setting, word in (("broker.replicas=three", "/broker/replicas"), ("broker.replcas=3", "replcas")):
        with pytest.raises(CommandFailed, match=word):
            cluster.run("helm", "template", "x", CHART, "--kube-version", "1.33.0", "--set", setting)


def test_a_number_among_the_settings_reaches_the_servers_as_text(cluster: Any) -> None:
    assert cluster.get("cluster", RELEASE)["spec"]["config"] == {"num.partitions": "4"}


def test_the_operators_rights_end_at_its_namespaces(cluster: Any, tenant: Any, steps: Any) -> None:
    operator = f"system:serviceaccount:{cluster.namespace}:{RELEASE}-operator"

    def may(what: str, namespace: str) -> bool:
        words = ["kubectl", "auth", "can-i", *what.split(), "-n", namespace, "--as", operator]
        return cluster.run(*words, check=False).split()[-1] == "yes"

    for namespace in BEYOND:
        assert [what for what in MIGHTY if may(what, namespace)] == [], namespace
    assert may("create statefulsets.apps", cluster.namespace)
    assert may("list topics.millstream.dev", tenant.namespace)
    assert not may("list secrets", cluster.namespace)
    assert not may("list nodes", cluster.namespace)
    steps.done("kubectl auth can-i says no to the operator beyond its namespaces")


def test_another_namespace_does_not_reach_the_cluster_unless_it_is_named(
    cluster: Any, tenant: Any, client: Client, steps: Any
) -> None:
    cluster.apply(topic("orders", partitions=2, deletionPolicy="Delete"))
    cluster.wait_for_condition("topic", "orders", "Ready", "True", timeout_s=60)
    tenant.apply(
        foreign("orders", cluster, topic("orders", partitions=9, deletionPolicy="Delete")),
        foreign("theirs", cluster, topic("theirs", deletionPolicy="Delete")),
        foreign("readers", cluster, consumer_group("readers", deletionPolicy="DeleteIfEmpty")),
    )
    for kind, name in (("topic", "orders"), ("topic", "theirs"), ("consumergroup", "readers")):
        assert reason_of(tenant, kind, name, "False")[0] == "NamespaceNotAllowed"
    tenant.kubectl("delete", "topic", "orders", timeout_s=60)
    listed = {each["topic"]: len(each["partitions"]) for each in json.loads(client.kcat("-L", "-J"))["topics"]}
    assert {name: count for name, count in listed.items() if not name.startswith("__")} == {"orders": 2}
    steps.done("resources of another namespace get a refusal; nothing is made, changed or deleted")
    patch = json.dumps({"spec": {"allowedNamespaces": [tenant.namespace]}})
    cluster.kubectl("patch", "cluster", RELEASE, "--type=merge", "-p", patch)
    tenant.wait_for_condition("topic", "theirs", "Ready", "True", timeout_s=60)
    steps.done("once the Cluster names the namespace, its Topic is made")


def test_the_younger_of_two_resources_for_one_thing_says_conflict(cluster: Any, tenant: Any, steps: Any) -> None:
    cluster.apply(consumer_group("first", groupId="shared"))
    cluster.wait_for_condition("consumergroup", "first", "Ready", "True", timeout_s=60)
    tenant.apply(foreign("second", cluster, consumer_group("second", groupId="shared", deletionPolicy="DeleteIfEmpty")))
    tenant.apply(foreign("orders", cluster, topic("orders", partitions=9, deletionPolicy="Delete")))
    for kind, name, elder in (("consumergroup", "second", "first"), ("topic", "orders", "orders")):
        reason, message = reason_of(tenant, kind, name, "False")
        assert reason == "Conflict"
        assert f"{cluster.namespace}/{elder} " in message
    steps.done("two resources for one group or one topic: the younger names the elder")


def test_a_namespace_with_topics_to_delete_goes_in_time(cluster: Any, tenant: Any, client: Client, steps: Any) -> None:
    cluster.run("kubectl", "delete", "namespace", tenant.namespace, timeout_s=60)
    found = cluster.get("topic", "orders")
    assert found["status"]["partitions"]["total"] == 2
    cluster.wait_until("the topic of the other namespace is gone", lambda: "theirs" not in client.kcat("-L"), 60)
    steps.done("the other namespace is gone, and its topic with it")
