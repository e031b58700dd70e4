"""What a Topic resource leads to."""

from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster.ids import uuid_text
from millstream_operator.plan.topic import (
    CreateTopic,
    GrowPartitions,
    PartitionSeen,
    SetConfigs,
    TopicPlan,
    TopicSeen,
    WantedTopic,
    has_to_move,
    is_the_created,
    plan_topic,
    topic_status,
    wanted_topic,
)

TOPIC_ID = UUID("6f0a2c9e-31a1-4c7b-9d1c-0c9a3f0f6a11")


def wanted(
    partitions: int = 3, replication_factor: int = 1, config: dict[str, str | None] | None = None
) -> WantedTopic:
    return WantedTopic("orders", partitions, replication_factor, config or {})


def seen(leaders: list[int], config: dict[str, str] | None = None) -> TopicSeen:
    partitions = tuple(PartitionSeen(index, leader, (index % 2,), (index % 2,)) for index, leader in enumerate(leaders))
    return TopicSeen(TOPIC_ID, partitions, config or {})


def test_a_topic_that_is_not_there_is_created_with_what_is_enforced() -> None:
    plan = plan_topic(wanted(config={"retention.ms": "1000", "cleanup.policy": None}), None)
    assert plan.steps == (CreateTopic("orders", 3, 1, {"retention.ms": "1000"}),)
    assert plan.refusal is None


def test_a_topic_as_declared_needs_nothing() -> None:
    assert plan_topic(wanted(config={"a": "1", "b": None}), seen([0, 1, 0], {"a": "1", "b": "x"})).steps == ()


def test_partitions_grow() -> None:
    assert plan_topic(wanted(partitions=5), seen([0, 1, 0])).steps == (GrowPartitions("orders", 5),)


def test_partitions_never_shrink_and_configs_are_enforced_all_the_same() -> None:
    plan = plan_topic(wanted(partitions=2, config={"a": "2"}), seen([0, 1, 0], {"a": "1"}))
    assert plan.steps == (SetConfigs("orders", {"a": "2"}),)
    assert plan.refusal is not None
    assert plan.refusal.reason == "PartitionsCannotShrink"


def test_another_replication_factor_or_other_brokers_have_to_move() -> None:
    assert not has_to_move(wanted(), seen([0, 1, 0]))
    assert has_to_move(wanted(replication_factor=2), seen([0, 1, 0]))
    assert has_to_move(replace(wanted(), brokers=frozenset({0})), seen([0, 1, 0]))
    assert not has_to_move(replace(wanted(), brokers=frozenset({0, 1, 2})), seen([0, 1, 0]))
    assert not has_to_move(replace(wanted(), replication_factor=None), seen([0, 1, 0]))


def test_strict_takes_away_what_is_not_named_but_for_what_passes() -> None:
    strict = replace(wanted(config={"a": "1", "b": None}), is_strict=True)
    there = {"a": "1", "b": "x", "c": "2", "leader.replication.throttled.replicas": "*"}
    assert plan_topic(strict, seen([0, 1, 0], there)).steps == (SetConfigs("orders", {"c": None}),)
    assert plan_topic(replace(strict, is_strict=False), seen([0, 1, 0], there)).steps == ()


def test_a_topic_that_names_no_factor_takes_the_clusters_and_is_content_with_any() -> None:
    anyhow = wanted_topic("orders", {"partitions": 3})
    assert plan_topic(anyhow, None).steps == (CreateTopic("orders", 3, None, {}),)
    assert plan_topic(anyhow, seen([0, 1, 0])) == TopicPlan(())


def test_status_counts_leaders_by_pod_and_shows_what_is_offline() -> None:
    status = topic_status(seen([0, -1, 0]), None, {0: "demo-broker-0"})
    assert status.fields["leaders"] == {"demo-broker-0": 2}
    assert status.fields["partitions"] == {"total": 3, "online": 2, "underReplicated": 0}
    assert status.fields["problemPartitions"] == [{"partition": 1, "leader": -1, "isr": [1]}]
    assert (status.condition.status, status.condition.reason) == (False, "PartitionsOffline")


@pytest.mark.parametrize(
    ("status", "live", "expected"),
    [
        ({"created": True, "topicId": uuid_text(TOPIC_ID)}, TOPIC_ID, True),
        ({"created": False, "topicId": uuid_text(TOPIC_ID)}, TOPIC_ID, False),
        ({"created": True, "topicId": "another"}, TOPIC_ID, False),
        ({}, TOPIC_ID, False),
    ],
)
def test_only_the_topic_that_the_resource_created_is_deleted(
    status: dict[str, object], live: UUID, expected: bool
) -> None:
    assert is_the_created(status, live) is expected


def test_defaults_of_a_short_resource() -> None:
    assert wanted_topic("orders", {"clusterRef": {"name": "c"}}) == WantedTopic("orders", 1, None, {})
    assert wanted_topic("orders", {"topicName": "Orders_v1", "partitions": 2}).name == "Orders_v1"
