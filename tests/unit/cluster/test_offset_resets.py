"""Where a reset takes a group's offsets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.offset_resets import (
    Distance,
    LogRange,
    Move,
    NowhereToCountFrom,
    ShiftBy,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToTime,
    distance,
    duration_ms,
    gone_on,
    target_of,
)

A, B = ("orders", 0), ("orders", 1)
LOGS = {A: LogRange(10, 100), B: LogRange(0, 5)}


@pytest.mark.parametrize(
    ("move", "target"),
    [
        (ToEarliest(), {A: 10, B: 0}),
        (ToLatest(), {A: 100, B: 5}),
        (ToOffset(7), {A: 10, B: 5}),
        (ToTime(1_000), {A: 42, B: 5}),
        (ShiftBy(-30), {A: 20, B: 0}),
        (ShiftBy(1_000), {A: 100, B: 5}),
    ],
)
def test_each_move_ends_inside_the_log(move: Move, target: dict[tuple[str, int], int]) -> None:
    assert target_of(move, {A: 50, B: 3}, LOGS, {A: 42, B: -1}) == target


def test_who_has_committed_nothing_cannot_be_moved_by_so_many_records() -> None:
    with pytest.raises(NowhereToCountFrom, match="committed nothing in orders-1, so"):
        target_of(ShiftBy(1), {A: 50}, LOGS, {})


def test_what_is_skipped_and_what_is_read_again_are_told_apart() -> None:
    assert distance({A: 50, B: 3}, {A: 20, B: 5}) == Distance(skipped=2, repeated=30)
    assert distance({A: None, B: 3}, {A: 20, B: None}) == Distance(0, 0)


def test_a_commit_made_since_shows() -> None:
    assert gone_on({A: 1, B: None}, {A: 1}) == []
    assert gone_on({A: 1, B: None}, {A: 2, B: 0}) == [A, B]


@pytest.mark.parametrize(("text", "ms"), [("90s", 90_000), ("15m", 900_000), ("6h", 21_600_000), ("7d", 604_800_000)])
def test_durations_are_numbers_with_a_unit(text: str, ms: int) -> None:
    assert duration_ms(text) == ms
    assert duration_ms(text[:-1]) is None
    assert duration_ms(f"-{text}") is None


@given(
    st.integers(0, 1_000),
    st.integers(0, 1_000),
    st.integers(-2_000, 2_000),
    st.one_of(st.builds(ShiftBy, st.integers(-5_000, 5_000)), st.builds(ToOffset, st.integers(0, 5_000))),
)
def test_no_move_leaves_the_log(start: int, length: int, committed: int, move: Move) -> None:
    log = LogRange(start, start + length)
    moved = target_of(move, {A: committed}, {A: log}, {})[A]
    assert log.start <= moved <= log.end
