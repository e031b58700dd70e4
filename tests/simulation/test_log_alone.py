"""A log by itself keeps its promises through seeded courses of appends, cuts, flushes, kills and bad disks."""

import pytest

from millstream_simulation.log_alone.draw import Trouble
from millstream_simulation.log_alone.judged import judged


@pytest.mark.parametrize("seed", range(1, 26))
def test_every_promise_of_a_log_is_kept(seed: int) -> None:
    outcome = judged(seed, without=frozenset({Trouble.FULL_DISK}))
    assert outcome.violation is None, outcome


@pytest.mark.parametrize("seed", range(1, 7))
def test_every_promise_of_a_log_is_kept_on_a_full_disk(seed: int) -> None:
    outcome = judged(seed)
    assert outcome.violation is None, outcome


def test_a_log_that_was_cut_below_what_was_cleaned_has_no_holes() -> None:
    """Its new segments counted as cleaned: what a power loss took of one was believed to be compacted away."""
    outcome = judged(163)
    assert outcome.violation is None, outcome


def test_a_transaction_index_ends_where_a_power_loss_left_zeros() -> None:
    """They were taken for an aborted transaction of producer 0."""
    outcome = judged(305)
    assert outcome.violation is None, outcome


def test_the_same_seed_is_the_same_course() -> None:
    assert judged(5) == judged(5)
