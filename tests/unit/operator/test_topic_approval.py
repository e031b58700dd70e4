"""What of a Topic's plan is held back."""

from dataclasses import replace
from uuid import UUID

import pytest

from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.scale import RegisteredBroker, View
from millstream_operator.plan.topic import (
    CreateTopic,
    GrowPartitions,
    MoveReplicas,
    PartitionSeen,
    SetConfigs,
    Step,
    TopicSeen,
    WantedTopic,
)
from millstream_operator.plan.topic_approval import (
    Slowest,
    guarded,
    is_approved,
    lowers_retention,
    plan_fields,
    plan_id_of,
    waits_for_approval,
)
from millstream_operator.plan.topic_replicas import movement_fields, plan_replicas

WANTED = WantedTopic("orders", 2, 2, {"retention.ms": "1000"})
SEEN = TopicSeen(UUID(int=7), (PartitionSeen(0, 0, (0, 1), (0, 1)), PartitionSeen(1, 1, (1, 2), (1, 2))), {})


def test_a_plan_waits_for_its_own_id_and_no_other() -> None:
    steps = (GrowPartitions("orders", 6),)
    plan_id = plan_id_of(WANTED, SEEN)
    assert is_approved({}, plan_id, steps)
    assert not is_approved({"approve": "Manual"}, plan_id, steps)
    assert not is_approved({"approve": "Manual", "approvedPlan": "older"}, plan_id, steps)
    assert is_approved({"approve": "Manual", "approvedPlan": plan_id}, plan_id, steps)
    assert is_approved({"approve": "Manual"}, plan_id, (CreateTopic("orders", 1, None, {}),))
    assert is_approved({"approve": "Manual"}, plan_id, ())
    assert plan_id in waits_for_approval(plan_id, steps).message


def test_the_id_is_another_where_something_else_is_wanted_or_there() -> None:
    ids = [
        plan_id_of(WANTED, SEEN),
        plan_id_of(replace(WANTED, partitions=3), SEEN),
        plan_id_of(replace(WANTED, replication_factor=3), SEEN),
        plan_id_of(replace(WANTED, brokers=frozenset({1})), SEEN),
        plan_id_of(replace(WANTED, config={}), SEEN),
        plan_id_of(replace(WANTED, is_strict=True), SEEN),
        plan_id_of(WANTED, replace(SEEN, topic_id=UUID(int=8))),
        plan_id_of(WANTED, replace(SEEN, config={"a": "b"})),
        plan_id_of(WANTED, replace(SEEN, partitions=SEEN.partitions[:1])),
    ]
    assert len(set(ids)) == len(ids)
    assert plan_id_of(WANTED, SEEN) == ids[0]


@pytest.mark.parametrize(
    ("value", "now", "lowered"),
    [
        ("1000", None, 1000),
        ("1000", "2000", 1000),
        ("1000", "-1", 1000),
        ("2000", "1000", None),
        ("-1", "1000", None),
        (None, "1000", None),
        ("soon", "1000", None),
    ],
)
def test_only_a_shorter_retention_can_take_something_away(
    value: str | None, now: str | None, lowered: int | None
) -> None:
    there = {} if now is None else {"retention.ms": now}
    assert lowers_retention((SetConfigs("orders", {"retention.ms": value}),), replace(SEEN, config=there)) == lowered


def test_a_retention_below_the_slowest_groups_lag_is_refused_and_the_rest_is_done() -> None:
    steps: tuple[Step, ...] = (SetConfigs("orders", {"retention.ms": "1000", "a": "1"}), GrowPartitions("orders", 6))
    kept, refusal = guarded(steps, 1000, Slowest("watchers", 5_000))
    assert kept == (SetConfigs("orders", {"a": "1"}), GrowPartitions("orders", 6))
    assert refusal is not None
    assert (refusal.reason, "watchers" in refusal.message) == ("RetentionBelowLag", True)
    assert guarded(steps[:1], 1000, Slowest("watchers", 1_000))[0] == (SetConfigs("orders", {"a": "1"}),)
    assert guarded(steps, 1000, Slowest("watchers", 999)) == (steps, None)
    assert guarded(steps, 1000, None) == (steps, None)


def view(factor: int = 2, *, moving: bool = False) -> View:
    return View(
        brokers={node: RegisteredBroker(f"rack-{node}") for node in range(4)},
        partitions=[
            PartitionStanding(
                "orders", index, index, tuple((index + at) % 4 for at in range(factor)), (index,), 1, is_moving=moving
            )
            for index in range(4)
        ],
        sizes={("orders", index): 100 for index in range(4)},
    )


def test_another_factor_makes_replicas_and_says_how_much_is_copied() -> None:
    plan = plan_replicas(WantedTopic("orders", 4, 3, {}), view())
    assert plan.step is not None
    assert all(len(set(replicas)) == 3 for replicas in plan.step.replicas.values())
    assert movement_fields(plan, 50) == {"partitions": 4, "bytes": 400, "seconds": 8}
    fewer = plan_replicas(WantedTopic("orders", 4, 1, {}), view())
    assert fewer.step is not None
    assert set(fewer.step.replicas.values()) == {(0,), (1,), (2,), (3,)}
    assert movement_fields(fewer, None) == {"partitions": 4, "bytes": 0}


def test_other_brokers_get_what_is_elsewhere() -> None:
    plan = plan_replicas(WantedTopic("orders", 4, 2, {}, brokers=frozenset({0, 1})), view())
    assert plan.step is not None
    assert all(set(replicas) == {0, 1} for replicas in plan.step.replicas.values())
    assert plan.copied_bytes == 400


@pytest.mark.parametrize(
    ("factor", "brokers", "why"),
    [
        (5, frozenset[int](), "5 replicas need as many brokers, and 4 may take them"),
        (3, frozenset({0, 1}), "3 replicas need as many brokers, and 2 may take them"),
        (2, frozenset({0, 9}), "no broker 9 in the cluster"),
        (None, frozenset({0}), "4 partitions have more replicas than brokers"),
    ],
)
def test_what_no_broker_can_take_is_refused_in_words(factor: int | None, brokers: frozenset[int], why: str) -> None:
    plan = plan_replicas(WantedTopic("orders", 4, factor, {}, brokers=brokers), view())
    assert plan.step is None
    assert plan.refusal is not None
    assert why in plan.refusal.message


def test_nothing_is_planned_while_replicas_move() -> None:
    plan = plan_replicas(WantedTopic("orders", 4, 3, {}), view(moving=True))
    assert (plan.step, plan.moving) == (None, 4)


def test_the_status_says_what_would_be_done() -> None:
    steps = (SetConfigs("orders", {"a": "1", "b": None}), MoveReplicas({("orders", 0): (0, 1, 2)}))
    assert plan_fields("x", steps, {"partitions": 1, "bytes": 5}, ["ns/b", "ns/a"]) == {
        "id": "x",
        "steps": ["set a to 1, b to the default", "change the replicas of 1 partitions"],
        "moves": {"partitions": 1, "bytes": 5},
        "groups": ["ns/a", "ns/b"],
    }
