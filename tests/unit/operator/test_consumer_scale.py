"""How many consumers a group is to have."""

from dataclasses import replace

import pytest

from millstream_operator.plan.consumer_scale import Recommendations, Scaling, without_pods

BY_LAG = Scaling("StatefulSet", "workers", None, lag_per_replica=100, least=1, most=10, cooldown_ms=300_000)


def wanted(lag: int, current: int, *, partitions: int = 12, scaling: Scaling = BY_LAG) -> int:
    """After the cool-down that follows an operator's start."""
    return Recommendations(0).wanted(scaling, lag, partitions, current, 1_000_000)


@pytest.mark.parametrize(
    ("lag", "partitions", "replicas"),
    [(0, 12, 1), (1, 12, 1), (101, 12, 2), (1_000, 12, 10), (9_999, 12, 10), (9_999, 3, 3)],
)
def test_as_many_as_the_lag_asks_for_and_no_more_than_have_something_to_read(
    lag: int, partitions: int, replicas: int
) -> None:
    assert wanted(lag, 1, partitions=partitions) == replicas


def test_nobody_is_needed_where_nothing_is_left_and_somebody_where_one_record_is() -> None:
    to_zero = replace(BY_LAG, least=0)
    assert wanted(0, 3, scaling=to_zero) == 0
    assert wanted(1, 0, scaling=to_zero) == 1


def test_what_somebody_asked_for_is_passed_on() -> None:
    assert wanted(5_000, 1, scaling=replace(BY_LAG, replicas=4)) == 4
    assert wanted(5_000, 1, scaling=replace(BY_LAG, replicas=0)) == 0


def test_fewer_only_when_that_was_enough_for_a_whole_cool_down() -> None:
    asked = Recommendations(-1_000_000)
    at = [(0, 800), (100_000, 50), (200_000, 400), (299_000, 50), (301_000, 50), (499_000, 50), (501_000, 50)]
    assert [asked.wanted(BY_LAG, lag, 12, 8, now_ms) for now_ms, lag in at] == [8, 8, 8, 8, 4, 4, 1]


def test_an_operator_that_has_just_started_takes_nobody_away() -> None:
    asked = Recommendations(0)
    assert asked.wanted(BY_LAG, 0, 12, 5, 1_000) == 5
    assert asked.wanted(BY_LAG, 900, 12, 5, 2_000) == 9
    assert asked.wanted(BY_LAG, 0, 12, 5, 302_001) == 1


def test_only_pods_that_the_stateful_set_does_not_have_any_more_are_gone() -> None:
    instances = [
        "workers-0",
        "workers-1",
        "workers-2",
        "workers-10",
        "others-7",
        "workers",
        "workers-x",
        "my-workers-5",
    ]
    assert without_pods("workers", 2, instances) == ["workers-10", "workers-2"]
    assert without_pods("workers", 3, instances) == ["workers-10"]


def test_a_short_declaration_has_its_defaults() -> None:
    spec = {"scaling": {"workload": {"kind": "Deployment", "name": "w"}, "lagPerReplica": 5, "maxReplicas": 3}}
    assert Scaling.of(spec) == Scaling("Deployment", "w", None, 5, 1, 3, 300_000)
    assert Scaling.of({}) is None
