"""What a ConsumerGroup resource leads to."""

from typing import Any

import pytest

from millstream_cluster.offset_resets import LogRange
from millstream_operator.plan.consumer_group import (
    GroupSeen,
    Lag,
    group_conditions,
    group_fields,
    initial_offsets,
    lag_of,
)
from millstream_operator.plan.lag_times import Behind


def seen(
    committed: dict[tuple[str, int], int],
    ranges: dict[tuple[str, int], LogRange],
    state: str = "Stable",
    **more: Any,
) -> GroupSeen:
    return GroupSeen(state, more.pop("type", "classic"), "range", 1, "c-0:9094", committed, ranges, **more)


def test_lag_counts_what_is_there_and_unread() -> None:
    ranges = {("t", 0): LogRange(0, 10), ("t", 1): LogRange(0, 5), ("t", 2): LogRange(100, 130)}
    assert lag_of(seen({("t", 0): 4, ("t", 1): 5, ("t", 2): 20}, ranges)) == Lag(total=36, largest=30, partitions=2)


def test_a_partition_without_a_commit_is_all_lag() -> None:
    assert lag_of(seen({}, {("t", 0): LogRange(3, 10)})) == Lag(total=7, largest=7, partitions=1)


def test_a_commit_past_the_end_is_no_negative_lag() -> None:
    assert lag_of(seen({("t", 0): 12}, {("t", 0): LogRange(0, 10)})) == Lag(0, 0, 0)


def test_a_share_groups_lag_is_what_its_coordinator_says_is_left() -> None:
    ranges = {("t", 0): LogRange(0, 10), ("t", 1): LogRange(0, 10)}
    assert lag_of(seen({("t", 0): 2, ("t", 1): 2}, ranges, type="share", left={("t", 0): 3})).total == 11


def test_a_group_starts_only_where_nothing_is_committed_and_nobody_reads() -> None:
    ranges = {("t", 0): LogRange(2, 10), ("t", 1): LogRange(0, 5), ("other", 0): LogRange(0, 1)}
    spec = {"topics": ["t"], "offsets": {"initial": "Latest"}}
    assert initial_offsets(spec, seen({("t", 1): 1}, ranges, "Empty")) == {("t", 0): 10}
    assert initial_offsets({**spec, "offsets": {"initial": "Earliest"}}, seen({}, ranges, "Dead")) == {
        ("t", 0): 2,
        ("t", 1): 0,
    }
    assert initial_offsets(spec, seen({}, ranges, "Stable")) == {}
    assert initial_offsets(spec, seen({}, ranges, "Empty", type="share")) == {}
    assert initial_offsets({"topics": ["t"]}, seen({}, ranges, "Empty")) == {}


def conditions(spec: dict[str, Any], group: GroupSeen, behind: Behind | None = None) -> dict[str, tuple[Any, str]]:
    found = group_conditions(spec, group, behind or Behind())
    return {each.type: (each.status, each.reason) for each in found}


def test_what_is_not_known_is_not_told_as_well() -> None:
    assert conditions({}, seen({}, {}, missing_topics=["t"]))["Ready"] == (False, "TopicsMissing")
    assert conditions({}, seen({}, {}, unanswered=2))["Ready"] == (None, "PartitionsOffline")
    assert conditions({}, seen({}, {}))["Ready"] == (True, "Observed")


@pytest.mark.parametrize(
    ("alerts", "lagging"),
    [
        ({}, (False, "NoLimits")),
        ({"stuckAfterSeconds": 300}, (False, "NoLimits")),
        ({"maxLag": 10, "maxLagSeconds": 60}, (False, "WithinLimits")),
        ({"maxLag": 9}, (True, "TooManyRecords")),
        ({"maxLag": 0}, (True, "TooManyRecords")),
        ({"maxLagSeconds": 59}, (True, "TooLong")),
    ],
)
def test_who_lags_by_more_than_was_declared_is_told(alerts: dict[str, int], lagging: tuple[bool, str]) -> None:
    group = seen({("t", 0): 0}, {("t", 0): LogRange(0, 10)})
    assert conditions({"alerts": alerts}, group, Behind(60_000))["Lagging"] == lagging


def test_stuck_partitions_are_named_and_counted() -> None:
    group = seen({("t", index): 1 for index in range(30)}, {("t", index): LogRange(0, 5) for index in range(30)})
    behind = Behind(9_000, {("t", index): 1_000 * index for index in range(30)})
    fields = group_fields(group, behind)
    assert fields["lag"]["partitionsStuck"] == 30
    assert len(fields["stuckPartitions"]) == 20
    assert fields["stuckPartitions"][2] == {
        "topic": "t",
        "partition": 2,
        "committed": 1,
        "lag": 4,
        "since": "1970-01-01T00:00:02Z",
    }
    assert conditions({}, group, behind)["Stuck"] == (True, "NoProgress")
    assert conditions({}, group)["Stuck"] == (False, "Moving")


def test_a_pause_that_somebody_else_made_shows_as_well() -> None:
    assert conditions({}, seen({}, {}, configs={"paused": "true"}))["Paused"] == (True, "Paused")
    assert conditions({"paused": True}, seen({}, {}))["Paused"] == (False, "NotPaused")
