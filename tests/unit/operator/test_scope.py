"""Whose resources a Cluster serves, and who has a name that two resources declare."""

from typing import Any

import pytest

from millstream_operator.config import OperatorConfig
from millstream_operator.plan.scope import Claim, Namesakes, cluster_key, elder, owner, serves
from millstream_runtime.properties import Properties, PropertyError


def cluster(*allowed: str) -> dict[str, Any]:
    return {"metadata": {"name": "c", "namespace": "streams"}, "spec": {"allowedNamespaces": list(allowed)}}


def resource(name: str, namespace: str, created: str, topic: str = "orders") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"clusterRef": {"name": "c", "namespace": "streams"}, "topicName": topic}}


def name_of(body: Any) -> str:
    return str(body["spec"]["topicName"])


def test_a_cluster_serves_its_own_namespace_and_those_that_it_names() -> None:
    assert [serves(cluster("shop"), each) for each in ("streams", "shop", "shops", "kube-system")] == [
        True,
        True,
        False,
        False,
    ]
    assert serves(cluster("*"), "anywhere")
    assert serves({"metadata": {"namespace": "streams"}, "spec": {}}, "shop") is False


def test_a_reference_without_a_namespace_means_the_resources_own() -> None:
    body = resource("t", "shop", "2026-01-01T00:00:00Z")
    assert cluster_key(body) == ("streams", "c")
    del body["spec"]["clusterRef"]["namespace"]
    assert cluster_key(body) == ("shop", "c")


def test_the_younger_of_two_resources_learns_the_name_of_the_elder() -> None:
    old, young = (
        resource("old", "streams", "2026-01-01T00:00:00Z"),
        resource("young", "streams", "2026-02-01T00:00:00Z"),
    )
    assert elder(young, [young, old], cluster(), name_of) == "streams/old"
    assert elder(old, [young, old], cluster(), name_of) is None
    other = resource("other", "streams", "2025-01-01T00:00:00Z", topic="payments")
    assert elder(old, [old, other], cluster(), name_of) is None


def test_only_namesakes_in_the_same_cluster_are_compared() -> None:
    one, same = (resource(name, "streams", "2026-01-01T00:00:00Z") for name in ("one", "same"))
    other, elsewhere = (resource(name, "streams", "2026-01-01T00:00:00Z") for name in ("other", "elsewhere"))
    other["spec"]["topicName"] = "payments"
    elsewhere["spec"]["clusterRef"] = {"name": "another", "namespace": "streams"}
    namesakes = Namesakes([one, same, other, elsewhere], name_of)
    assert [each["metadata"]["name"] for each in namesakes.of(one)] == ["one", "same"]
    assert elder(one, namesakes.of(one), cluster(), name_of) == elder(
        one, [one, same, other, elsewhere], cluster(), name_of
    )


def test_a_resource_that_the_cluster_does_not_serve_keeps_nobody_out() -> None:
    squatter, ours = (
        resource("old", "shop", "2025-01-01T00:00:00Z"),
        resource("ours", "streams", "2026-02-01T00:00:00Z"),
    )
    assert elder(ours, [squatter, ours], cluster(), name_of) is None
    assert elder(ours, [squatter, ours], cluster("shop"), name_of) == "shop/old"


def test_of_two_made_in_the_same_second_one_has_the_name() -> None:
    first, second = Claim("2026-01-01T00:00:00Z", "a", "x/first"), Claim("2026-01-01T00:00:00Z", "b", "x/second")
    assert owner([second, first]) == owner([first, second]) == first
    assert owner([]) is None


def test_the_operator_has_to_be_told_its_namespaces() -> None:
    config = OperatorConfig.from_properties(Properties({"watch.namespaces": "streams, shop,streams"}))
    assert (config.watch_namespaces, config.namespace) == (("streams", "shop"), "streams")
    for values in ({}, {"watch.namespaces": " , "}):
        with pytest.raises(PropertyError, match=r"watch\.namespaces"):
            OperatorConfig.from_properties(Properties(values))
