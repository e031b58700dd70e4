"""A log by itself keeps its promises through seeded courses of appends, cuts, flushes, kills and bad disks."""

import pytest

from millstream_simulation.log_alone.draw import Trouble
from millstream_simulation.log_alone.judged import judged

WRONG_ABORTED = pytest.mark.xfail(
    strict=True,
    reason="after power losses the log may tell too little of aborted transactions, or another last stable offset",
)


def seeds(last: int, wrong: set[int]) -> list[object]:
    return [pytest.param(seed, marks=WRONG_ABORTED) if seed in wrong else seed for seed in range(1, last + 1)]


@pytest.mark.parametrize("seed", seeds(25, {1, 24}))
def test_every_promise_of_a_log_is_kept(seed: int) -> None:
    outcome = judged(seed, without=frozenset({Trouble.FULL_DISK}))
    assert outcome.violation is None, outcome


@pytest.mark.parametrize("seed", seeds(6, {1}))
def test_every_promise_of_a_log_is_kept_on_a_full_disk(seed: int) -> None:
    outcome = judged(seed)
    assert outcome.violation is None, outcome


def test_the_same_seed_is_the_same_course() -> None:
    assert judged(5) == judged(5)
