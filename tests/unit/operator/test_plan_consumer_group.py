"""What a ConsumerGroup resource leads to."""

from millstream_operator.plan.consumer_group import (
    GroupSeen,
    Lag,
    LogRange,
    group_readiness,
    initial_offsets,
    lag_of,
)


def seen(
    committed: dict[tuple[str, int], int], ranges: dict[tuple[str, int], LogRange], state: str = "Stable"
) -> GroupSeen:
    return GroupSeen(state, "range", 1, "c-0:9094", committed, ranges)


def test_lag_counts_what_is_there_and_unread() -> None:
    ranges = {("t", 0): LogRange(0, 10), ("t", 1): LogRange(0, 5), ("t", 2): LogRange(100, 130)}
    assert lag_of(seen({("t", 0): 4, ("t", 1): 5, ("t", 2): 20}, ranges)) == Lag(total=36, largest=30, partitions=2)


def test_a_partition_without_a_commit_is_all_lag() -> None:
    assert lag_of(seen({}, {("t", 0): LogRange(3, 10)})) == Lag(total=7, largest=7, partitions=1)


def test_a_commit_past_the_end_is_no_negative_lag() -> None:
    assert lag_of(seen({("t", 0): 12}, {("t", 0): LogRange(0, 10)})) == Lag(0, 0, 0)


def test_a_group_starts_only_where_nothing_is_committed_and_nobody_reads() -> None:
    ranges = {("t", 0): LogRange(2, 10), ("t", 1): LogRange(0, 5), ("other", 0): LogRange(0, 1)}
    spec = {"topics": ["t"], "offsets": {"initial": "Latest"}}
    assert initial_offsets(spec, seen({("t", 1): 1}, ranges, "Empty")) == {("t", 0): 10}
    assert initial_offsets({**spec, "offsets": {"initial": "Earliest"}}, seen({}, ranges, "Dead")) == {
        ("t", 0): 2,
        ("t", 1): 0,
    }
    assert initial_offsets(spec, seen({}, ranges, "Stable")) == {}
    assert initial_offsets({"topics": ["t"]}, seen({}, ranges, "Empty")) == {}


def test_a_declared_topic_that_is_missing_shows() -> None:
    group = GroupSeen("Dead", "", 0, "c-0:9094", {}, {}, missing_topics=["t"])
    assert (group_readiness(group).status, group_readiness(group).reason) == (False, "TopicsMissing")
