from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_broker.core.replication.throttle import BURST_MS, Copying, Throttle, ThrottledReplicas

HELD = Copying(throttled=True, in_sync=False, nearly=False)


@pytest.mark.parametrize(
    ("items", "named"),
    [((), set()), (("*",), {(0, 1), (0, 2), (7, 1), (7, 2)}), (("0:1", "7:2"), {(0, 1), (7, 2)})],
)
def test_a_topic_names_none_all_or_pairs(items, named) -> None:  # type: ignore[no-untyped-def]
    replicas = ThrottledReplicas.of(items)
    assert {(p, b) for p, b in product((0, 7), (1, 2)) if replicas.has(p, b)} == named


def throttle(rate: int | None) -> Throttle:
    made = Throttle()
    made.configure(rate, 0)
    return made


def test_only_a_copy_that_is_far_behind_out_of_sync_and_named_waits() -> None:
    for throttled, in_sync, nearly in product((True, False), repeat=3):
        copying = Copying(throttled=throttled, in_sync=in_sync, nearly=nearly)
        bucket = throttle(10)
        bucket.took(HELD, 1_000_000, 0)
        assert bucket.admits(copying, 0) is (copying != HELD)


def test_who_does_not_wait_takes_nothing_from_those_who_do() -> None:
    bucket = throttle(10)
    for copying in (
        Copying(throttled=False, in_sync=False, nearly=False),
        Copying(throttled=True, in_sync=True, nearly=False),
        Copying(throttled=True, in_sync=False, nearly=True),
    ):
        bucket.took(copying, 1_000_000, 0)
    assert bucket.admits(HELD, 0)


def test_at_a_rate_of_0_copies_stand_still() -> None:
    bucket = throttle(0)
    assert not bucket.admits(HELD, 1_000_000)
    assert bucket.wait_ms(1_000_000) > 0
    assert bucket.admits(Copying(throttled=True, in_sync=True, nearly=False), 0)


def test_a_rate_of_none_holds_nothing_back() -> None:
    bucket = throttle(None)
    bucket.took(HELD, 1 << 40, 0)
    assert bucket.admits(HELD, 0)
    assert bucket.wait_ms(0) == 0


@given(
    st.integers(1, 10_000),
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 5_000)), min_size=1, max_size=60),
)
def test_over_any_time_no_more_than_the_rate_one_burst_and_one_answer(rate: int, steps: list[tuple[int, int]]) -> None:
    bucket = throttle(rate)
    now_ms = moved = largest = 0
    for pause_ms, size in steps:
        now_ms += pause_ms
        if bucket.admits(HELD, now_ms):
            bucket.took(HELD, size, now_ms)
            moved += size
            largest = max(largest, size)
    assert moved <= rate * (now_ms + BURST_MS) / 1000 + largest


@given(st.integers(1, 10_000), st.integers(1, 1_000_000))
def test_a_held_copy_goes_on_after_the_wait_and_not_before(rate: int, size: int) -> None:
    bucket = throttle(rate)
    bucket.took(HELD, size, 0)
    wait_ms = bucket.wait_ms(0)
    assert bucket.admits(HELD, 0) is (wait_ms == 0)
    if wait_ms:
        assert not bucket.admits(HELD, wait_ms - 1)
    assert bucket.admits(HELD, wait_ms)


def test_a_new_rate_begins_at_once_and_the_same_one_again_changes_nothing() -> None:
    bucket = throttle(10)
    bucket.took(HELD, 1_000, 0)
    bucket.configure(10, 5)
    assert not bucket.admits(HELD, 5)
    bucket.configure(1_000_000, 5)
    assert bucket.admits(HELD, 5)
    bucket.configure(None, 5)
    assert bucket.admits(HELD, 5)
