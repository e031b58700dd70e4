"""min.insync.replicas changes while replicas are out of sync."""

import pytest

from millstream_cluster import records as r
from millstream_cluster.records import ResourceType
from millstream_controller.core import altered_configs
from millstream_controller.core.altered_configs import Change, Operation, Resource, alter_incrementally
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_controller.core.upkeep import Now, SoftState, keep_up
from millstream_wire.errors import ErrorCode

MIN_ISR = "min.insync.replicas"


def alter(cluster, *wanted, **how):
    """Each: a resource's type, name and its new value, None to take it back."""
    changes = [
        (
            Resource(kind, name, {ResourceType.TOPIC: 2, ResourceType.BROKER: 4}[kind]),
            (Change(MIN_ISR, Operation.SET if value is not None else Operation.DELETE, value),),
        )
        for kind, name, value in wanted
    ]
    return alter_incrementally(cluster.machine, changes, validate_only=how.get("validate_only", False))


@pytest.fixture
def lone(three):
    """One in sync of three, one eligible, and one that is neither."""
    three.fence(3)
    three.fence(2)
    return three


def test_with_fewer_needed_the_leader_commits_alone_and_nobody_else_is_eligible(lone) -> None:
    before = lone.partition()
    assert before.eligible_leader_replicas == (2,)
    decision = alter(lone, (ResourceType.TOPIC, "t", "1"))
    assert decision.records == (
        before.changed(eligible_leader_replicas=()),
        r.ConfigChanged(ResourceType.TOPIC, "t", MIN_ISR, "1"),
    )
    lone.do(decision)


@pytest.mark.parametrize("value", ["2", "3"])
def test_with_as_many_or_more_needed_everything_stays(lone, value) -> None:
    decision = alter(lone, (ResourceType.TOPIC, "t", value))
    assert [record for record in decision.records if isinstance(record, r.PartitionChanged)] == []


def test_a_topic_that_takes_its_own_value_back_has_the_clusters(lone) -> None:
    assert len(alter(lone, (ResourceType.TOPIC, "t", None)).records) == 2
    lone.do(alter(lone, (ResourceType.BROKER, "", "2")))
    assert len(alter(lone, (ResourceType.TOPIC, "t", None)).records) == 1
    both = lone.do(alter(lone, (ResourceType.TOPIC, "t", None), (ResourceType.BROKER, "", "1")))
    assert {outcome.error for _, outcome in both} == {ErrorCode.NONE}
    assert lone.partition().eligible_leader_replicas == ()


def test_the_clusters_value_is_for_topics_without_their_own(three) -> None:
    three.do(alter(three, (ResourceType.BROKER, "", "2")))
    three.create(NewTopic("u", assignments=((0, (1, 2, 3)),)))
    three.fence(3)
    three.fence(2)
    assert three.partition("u").eligible_leader_replicas == (2,)
    three.do(alter(three, (ResourceType.BROKER, "", "1")))
    assert three.partition("u").eligible_leader_replicas == ()
    assert three.partition("t").eligible_leader_replicas == (2,)


def test_no_broker_means_another_number_than_the_others(three) -> None:
    for name, value in (("1", "2"), ("1", None), ("", None)):
        decision = alter(three, (ResourceType.BROKER, name, value))
        assert decision.records == ()
        assert decision.reply[0][1].error is ErrorCode.INVALID_CONFIG


def test_only_validating_changes_nothing(lone) -> None:
    assert alter(lone, (ResourceType.TOPIC, "t", "1"), validate_only=True).records == ()


def test_more_than_one_append_holds_is_refused(lone, monkeypatch) -> None:
    lone.create(NewTopic("u", assignments=((0, (1, 2, 3)),), configs=((MIN_ISR, "2"),)))
    monkeypatch.setattr(altered_configs, "RECORDS_MAX", 0)
    refused = alter(lone, (ResourceType.TOPIC, "t", "1"))
    assert refused.records == ()
    assert refused.reply[0][1].error is ErrorCode.POLICY_VIOLATION


def test_what_a_controllers_properties_say_becomes_the_clusters_and_what_single_brokers_had_goes(new_cluster) -> None:
    cluster = new_cluster(static={MIN_ISR: "2"})
    cluster.register(1)
    set_before = r.ConfigChanged(ResourceType.BROKER, "1", MIN_ISR, "1")
    cluster.machine.apply(set_before)
    cluster.history.append(set_before)
    settled = keep_up(cluster.machine, SoftState.new(cluster.machine.settings), Now(0, 0))
    assert settled.records == (
        r.ConfigChanged(ResourceType.BROKER, "1", MIN_ISR, None),
        r.ConfigChanged(ResourceType.BROKER, "", MIN_ISR, "2"),
    )
    cluster.do(settled)
    assert keep_up(cluster.machine, SoftState.new(cluster.machine.settings), Now(0, 0)).records == ()
