"""Topics by `kubectl apply` alone: other factors and brokers, approval, what is strict, and what a slow group has not read."""

from __future__ import annotations

from typing import Any

import pytest
from group_reader import produce
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kubectl import CommandFailed
from product import consumer_group, topic
from scene import Scene


def status(scene: Scene, name: str) -> dict[str, Any]:
    found = scene.cluster.get("topic", name)
    assert found is not None
    return dict(found.get("status") or {})


def ready(scene: Scene, name: str) -> tuple[str, str]:
    found = [each for each in status(scene, name).get("conditions", ()) if each["type"] == "Ready"]
    return (found[0]["status"], found[0]["reason"]) if found else ("", "")


def wait_for(scene: Scene, name: str, reason: str) -> None:
    scene.wait_until(f"topic {name} is {reason}", lambda: ready(scene, name)[1] == reason, timeout_s=60)


def replicas(scene: Scene, name: str) -> list[set[int]]:
    admin = KafkaAdminClient(**scene.clients)
    try:
        [found] = admin.describe_topics([name])
    finally:
        admin.close()
    return [set(each["replica_nodes"]) for each in found["partitions"]]


def test_another_factor_and_other_brokers_move_replicas_and_nothing_is_lost(scene: Scene) -> None:
    scene.cluster.apply(topic("moved", partitions=3, replicationFactor=1))
    wait_for(scene, "moved", "AsDeclared")
    produce(scene.clients, "moved", 3, 20)
    scene.cluster.apply(topic("moved", partitions=3, replicationFactor=3))
    scene.wait_until(
        "there are three of each", lambda: all(len(each) == 3 for each in replicas(scene, "moved")), timeout_s=90
    )
    scene.cluster.apply(topic("moved", partitions=3, replicationFactor=2, placement={"brokers": [0, 1]}))
    scene.wait_until(
        "two brokers have it", lambda: all(each == {0, 1} for each in replicas(scene, "moved")), timeout_s=90
    )
    wait_for(scene, "moved", "AsDeclared")
    scene.cluster.apply(consumer_group("counts", groupId="counts", topics=["moved"]))
    counted = scene.cluster.wait_for_condition("consumergroup", "counts", "Ready", "True", timeout_s=60)
    assert counted["status"]["lag"]["total"] == 60
    scene.cluster.apply(topic("moved", partitions=3, replicationFactor=4, placement={"brokers": [0, 1, 2, 7]}))
    wait_for(scene, "moved", "InvalidReplicationFactor")
    scene.cluster.kubectl("delete", "consumergroup", "counts")


def test_a_plan_is_shown_and_waits_for_its_id(scene: Scene) -> None:
    approval = {"replicationFactor": 1, "approve": "Manual"}
    scene.cluster.apply(topic("careful", partitions=1, **approval), consumer_group("reader", topics=["careful"]))
    wait_for(scene, "careful", "AsDeclared")
    produce(scene.clients, "careful", 1, 50)
    approval["replicationFactor"] = 2
    scene.cluster.apply(topic("careful", partitions=4, config={"segment.ms": "60000"}, **approval))
    wait_for(scene, "careful", "WaitsForApproval")
    plan = status(scene, "careful")["plan"]
    assert [step.split()[0] for step in plan["steps"]] == ["grow", "set", "change"]
    assert plan["moves"]["partitions"] == 1
    assert plan["moves"]["bytes"] > 0
    assert plan["groups"] == [f"{scene.cluster.namespace}/reader"]
    assert [len(each) for each in replicas(scene, "careful")] == [1]
    scene.cluster.apply(
        topic("careful", partitions=4, config={"segment.ms": "60000"}, approvedPlan=plan["id"], **approval)
    )
    scene.wait_until("it has grown", lambda: len(replicas(scene, "careful")) == 4, timeout_s=60)
    # The topic is another now, so what is left of the way is another plan.
    second = scene.wait_until(
        "the rest is planned or there",
        lambda: ready(scene, "careful")[1] in ("WaitsForApproval", "AsDeclared") and status(scene, "careful"),
        timeout_s=60,
    ).get("plan")
    if second:
        scene.cluster.kubectl(
            "patch", "topic", "careful", "--type=merge", "-p", f'{{"spec": {{"approvedPlan": "{second["id"]}"}}}}'
        )
    scene.wait_until(
        "all have two replicas", lambda: [len(each) for each in replicas(scene, "careful")] == [2] * 4, timeout_s=90
    )
    wait_for(scene, "careful", "AsDeclared")
    assert "plan" not in status(scene, "careful")


def test_a_retention_below_the_slowest_groups_lag_is_refused_unless_forced(scene: Scene) -> None:
    slow = {"retention.ms": "86400000"}
    scene.cluster.apply(topic("kept", partitions=1, config=slow), consumer_group("slow", topics=["kept"]))
    wait_for(scene, "kept", "AsDeclared")
    produce(scene.clients, "kept", 1, 5)
    scene.wait_until(
        "the lag has some age",
        lambda: (
            (scene.cluster.get("consumergroup", "slow") or {}).get("status", {}).get("lag", {}).get("seconds", 0) > 2
        ),
        timeout_s=60,
    )
    short = {"retention.ms": "1000", "segment.ms": "60000"}
    scene.cluster.apply(topic("kept", partitions=1, config=short))
    wait_for(scene, "kept", "RetentionBelowLag")
    assert configs(scene, "kept") == {"retention.ms": "86400000", "segment.ms": "60000"}
    scene.cluster.apply(topic("kept", partitions=1, config=short, forceRetention=True))
    wait_for(scene, "kept", "AsDeclared")
    assert configs(scene, "kept") == short


def test_strict_takes_away_what_somebody_else_has_set(scene: Scene) -> None:
    scene.cluster.apply(topic("strict", partitions=1, config={"segment.ms": "60000"}))
    wait_for(scene, "strict", "AsDeclared")
    admin = KafkaAdminClient(**scene.clients)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "strict", {"retention.ms": "5000"})])
    admin.close()
    scene.cluster.apply(topic("strict", partitions=1, config={"segment.ms": "60000"}, configPolicy="Strict"))
    scene.wait_until("it is gone", lambda: configs(scene, "strict") == {"segment.ms": "60000"}, timeout_s=60)


def test_a_topic_made_anew_by_somebody_else_is_not_deleted_with_the_resource(scene: Scene) -> None:
    scene.cluster.apply(topic("remade", partitions=1, deletionPolicy="Delete"))
    wait_for(scene, "remade", "AsDeclared")
    first = status(scene, "remade")["topicId"]
    admin = KafkaAdminClient(**scene.clients)
    try:
        scene.cluster.kubectl("scale", "deployment", "millstream-operator", "--replicas=0")
        scene.wait_until(
            "nobody looks", lambda: not scene.cluster.list("pods", "app.kubernetes.io/name=millstream-operator"), 60
        )
        admin.delete_topics(["remade"])
        admin.create_topics([NewTopic("remade", 2, 1)])
        scene.cluster.kubectl("scale", "deployment", "millstream-operator", "--replicas=1")
        scene.wait_until("it is seen", lambda: status(scene, "remade")["topicId"] != first, timeout_s=90)
        scene.cluster.kubectl("delete", "topic", "remade", "--timeout=90s", timeout_s=100)
        assert "remade" in admin.list_topics()
    finally:
        admin.close()


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"topicName": "no spaces"}, "topicName"),
        ({"partitions": 0}, "spec.partitions"),
        ({"replicationFactor": 3, "placement": {"brokers": [1]}}, "more than the brokers that placement names"),
        ({"configPolicy": "Loose"}, "supported values"),
        ({"config": {"retention.ms": 5}}, "must be of type string"),
    ],
)
def test_the_api_server_refuses_bad_input_in_words(scene: Scene, spec: dict[str, Any], why: str) -> None:
    with pytest.raises(CommandFailed, match=why):
        scene.cluster.apply(topic("refused", **spec))


def configs(scene: Scene, name: str) -> dict[str, str]:
    """What is set for the topic itself."""
    admin = KafkaAdminClient(**scene.clients)
    try:
        found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])["topic"][name]
    finally:
        admin.close()
    return {key: each["value"] for key, each in found.items() if each["config_source"] == "DYNAMIC_TOPIC_CONFIG"}
