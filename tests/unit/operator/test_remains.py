"""What resources leave behind when they go, and what of it is kept."""

from typing import Any

import pytest

from millstream_operator.plan.remains import leaves_something, manifest_of, read, remains_of
from millstream_operator.plan.user import made_of
from millstream_operator.resources.identity import ClusterIdentity

CLUSTER = ClusterIdentity("c", "streams", "uid-of-c")


def body(spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata = {"name": "n", "namespace": "shop", "uid": "uid-of-n", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "spec": {"clusterRef": {"name": "c"}, **spec}, "status": status or {}}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "leaves"),
    [
        ("Topic", {"deletionPolicy": "Delete"}, {"created": True, "topicId": "t"}, True),
        ("Topic", {"deletionPolicy": "Delete"}, {"created": False, "topicId": "t"}, False),
        ("Topic", {"deletionPolicy": "Delete"}, {}, False),
        ("Topic", {"deletionPolicy": "Retain"}, {"created": True, "topicId": "t"}, False),
        ("ConsumerGroup", {"deletionPolicy": "DeleteIfEmpty"}, {}, True),
        ("ConsumerGroup", {}, {"configs": ["paused"]}, True),
        ("ConsumerGroup", {}, {"configs": []}, False),
        ("User", {}, {"made": {"credential": True, "acls": [], "quotas": []}}, True),
        ("User", {}, {"made": {"credential": False, "acls": [], "quotas": []}}, False),
        ("Cluster", {}, {}, False),
    ],
)
def test_only_what_was_made_and_is_to_go_is_left(
    kind: str, spec: dict[str, Any], status: dict[str, Any], leaves: bool
) -> None:
    assert leaves_something(kind, body(spec, status)) is leaves


def test_what_is_kept_is_read_again_and_goes_with_its_cluster() -> None:
    spec = {"topicName": "orders", "deletionPolicy": "Delete", "partitions": 3, "config": {"retention.ms": "1"}}
    kept = remains_of("Topic", body(spec, {"created": True, "topicId": "t", "leaders": {"c-broker-0": 3}}), CLUSTER)
    manifest = manifest_of(kept, CLUSTER)
    assert (manifest["metadata"]["name"], manifest["metadata"]["namespace"]) == ("c-uid-of-n", "streams")
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == "uid-of-c"
    assert read(manifest) == kept
    assert kept.body["spec"] == {
        "topicName": "orders",
        "deletionPolicy": "Delete",
        "clusterRef": {"name": "c", "namespace": "streams"},
    }
    assert kept.body["status"] == {"created": True, "topicId": "t"}


def test_of_a_user_everything_it_made_is_kept() -> None:
    acl = {"resourceType": "Topic", "name": "a", "operations": ["Read"], "principal": "User:n"}
    made = {"credential": True, "acls": [acl], "quotas": ["producer_byte_rate"]}
    kept = remains_of("User", body({"authorization": {"acls": []}}, {"made": made, "secretVersion": "7"}), CLUSTER)
    assert made_of(kept.body["status"]) == made_of({"made": made})
    assert "secretVersion" not in kept.body["status"]


def test_nobody_elsewhere_has_a_say_in_what_is_deleted() -> None:
    """Whoever may write such objects in a namespace of theirs must not thereby reach another's cluster."""
    topic = body({"topicName": "orders", "deletionPolicy": "Delete"}, {"created": True, "topicId": "t"})
    manifest = manifest_of(remains_of("Topic", topic, CLUSTER), CLUSTER)
    assert read(manifest) is not None
    assert read({**manifest, "metadata": {**manifest["metadata"], "namespace": "shop"}}) is None
