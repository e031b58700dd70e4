"""What resources leave behind: taken away with them, also where nobody watched them go; and none waits for that with a finalizer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient
from product import consumer_group, topic, user
from scene import Scene

KINDS = ("topic", "consumergroup", "user")
OPERATOR = "app.kubernetes.io/name=millstream-operator"


@pytest.fixture
def admin(scene: Scene) -> Iterator[KafkaAdminClient]:
    found = KafkaAdminClient(**scene.clients)
    yield found
    found.close()


def send_away(scene: Scene) -> None:
    scene.cluster.kubectl("scale", "deployment", "millstream-operator", "--replicas=0")
    scene.wait_until("nobody looks", lambda: not scene.cluster.list("pods", OPERATOR), timeout_s=60)


def call_back(scene: Scene) -> None:
    scene.cluster.kubectl("scale", "deployment", "millstream-operator", "--replicas=1")


def kept(scene: Scene) -> set[str]:
    """Of which resources what they leave is kept, without the tester's own."""
    found = scene.cluster.list("remains")
    return {each["spec"]["resource"]["metadata"]["name"] for each in found} - {"tester"}


def topics_are(scene: Scene, admin: KafkaAdminClient, there: set[str], gone: set[str]) -> None:
    """Asked of whoever answers: a broker hears of a deletion a moment later than the controller."""
    scene.wait_until(
        f"{there} there, {gone} gone",
        lambda: there <= (found := set(admin.list_topics())) and not gone & found,
        timeout_s=60,
    )


def declare(scene: Scene, name: str) -> None:
    scene.cluster.apply(
        topic(f"{name}-goes", partitions=1, deletionPolicy="Delete"),
        topic(f"{name}-stays", partitions=1),
        consumer_group(f"{name}-group", topics=[f"{name}-stays"], paused=True),
        user(f"{name}-user", [("Topic", f"{name}-*", ["Read"])]),
    )
    for kind, each in (
        ("topic", f"{name}-goes"),
        ("topic", f"{name}-stays"),
        ("consumergroup", f"{name}-group"),
        ("user", f"{name}-user"),
    ):
        found = scene.cluster.wait_for_condition(kind, each, "Ready", "True", timeout_s=90)
        assert "finalizers" not in found["metadata"], "it would hang where the operator is gone"


def names(name: str) -> list[str]:
    kinds = ("topic/{}-goes", "topic/{}-stays", "consumergroup/{}-group", "user/{}-user")
    return [each.format(name) for each in kinds]


def test_what_resources_made_goes_with_them(scene: Scene, admin: KafkaAdminClient) -> None:
    declare(scene, "seen")
    made = {"seen-goes", "seen-group", "seen-user"}
    scene.wait_until("what they leave is kept", lambda: kept(scene) == made, timeout_s=60)
    scene.cluster.kubectl("delete", *names("seen"), "--timeout=60s", timeout_s=90)
    scene.wait_until("nothing is left", lambda: not kept(scene), timeout_s=60)
    topics_are(scene, admin, {"seen-stays"}, {"seen-goes"})


def test_what_went_while_nobody_watched_is_found(scene: Scene, admin: KafkaAdminClient) -> None:
    declare(scene, "missed")
    made = {"missed-goes", "missed-group", "missed-user"}
    scene.wait_until("what they leave is kept", lambda: kept(scene) == made, timeout_s=60)
    send_away(scene)
    try:
        scene.cluster.kubectl("delete", *names("missed"), "--timeout=20s", timeout_s=60)
        # Of the same names, and none of theirs: what those before them made is away before they are looked at.
        scene.cluster.apply(
            topic("missed-goes", partitions=2),
            consumer_group("missed-group", topics=["missed-goes"]),
            user("missed-user", [("Topic", "missed-*", ["Read"])]),
        )
        assert "missed-goes" in admin.list_topics(), "nobody is there to delete it"
    finally:
        call_back(scene)
    for kind, each in (("topic", "missed-goes"), ("consumergroup", "missed-group"), ("user", "missed-user")):
        scene.cluster.wait_for_condition(kind, each, "Ready", "True", timeout_s=120)
    scene.wait_until(
        "the topic is not the one of before",
        lambda: (scene.cluster.get("topic", "missed-goes") or {})["status"].get("created"),
        timeout_s=60,
    )
    scene.cluster.wait_for_condition("consumergroup", "missed-group", "Paused", "False", timeout_s=60)
    scene.wait_until("the new user's are kept", lambda: kept(scene) == {"missed-user"}, timeout_s=60)
    scene.cluster.kubectl("delete", "topic/missed-goes", "consumergroup/missed-group", "user/missed-user")
    scene.wait_until("nothing is left", lambda: not kept(scene), timeout_s=60)


def test_the_finalizer_of_release_0_1_0_holds_nothing_back(scene: Scene, admin: KafkaAdminClient) -> None:
    scene.cluster.apply(topic("held", partitions=1, deletionPolicy="Delete"))
    scene.cluster.wait_for_condition("topic", "held", "Ready", "True", timeout_s=60)
    patch = json.dumps({"metadata": {"finalizers": ["millstream.dev/data"]}})
    scene.cluster.kubectl("patch", "topic", "held", "--type=merge", "-p", patch)
    scene.cluster.kubectl("delete", "topic", "held", "--timeout=60s", timeout_s=90)
    topics_are(scene, admin, set(), {"held"})
