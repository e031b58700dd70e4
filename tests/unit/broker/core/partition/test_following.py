"""A partition that another node leads: what is copied, what the leader says is committed, and what is cut off again."""

import pytest

from millstream_broker.core.partition.effects import Committed, LeadershipBegan, LogGrew
from millstream_broker.core.partition.standing import Assigned, Partition
from millstream_broker.core.partition.uncommitted import UNKNOWN_SIZE


def follower(end_offset: int = 0, high_watermark: int = 0) -> Partition:
    """Node 1 follows node 2 in epoch 3."""
    partition = Partition(1, end_offset=end_offset, high_watermark=high_watermark)
    partition.on_assigned(Assigned((1, 2, 3), (1, 2, 3), 2, 3, 7))
    return partition


def test_what_is_copied_is_committed_as_far_as_the_leader_says() -> None:
    partition = follower()
    assert partition.on_followed(10, 100, 4) == (LogGrew(10, 100), Committed(4, 4, 100, 100))
    assert partition.on_followed(20, 50, 10) == (LogGrew(20, 50), Committed(10, 10, 100, 100))
    partition.check()


def test_a_follower_commits_no_more_than_it_has() -> None:
    partition = follower()
    assert partition.on_followed(10, 100, 30) == (LogGrew(10, 100), Committed(10, 10, 100, 100))
    partition.check()


def test_news_of_the_high_watermark_needs_no_records() -> None:
    partition = follower()
    partition.on_followed(10, 100, 0)
    assert partition.on_followed(10, 0, 10) == (Committed(10, 10, 100, 100),)
    assert partition.on_followed(10, 0, 10) == ()


def test_a_leader_that_knows_less_takes_nothing_back() -> None:
    """A new leader's high watermark may be behind for a while."""
    partition = follower(end_offset=10, high_watermark=8)
    assert partition.on_followed(10, 0, 3) == ()
    assert partition.high_watermark == 8
    partition.check()


def test_a_copied_transaction_is_undecided_until_its_marker_is_committed() -> None:
    partition = follower()
    partition.on_followed(10, 100, 10, 0)
    assert (partition.high_watermark, partition.last_stable_offset) == (10, 0)
    partition.on_followed(11, 5, 10, ended=[(10, 0)])
    assert (partition.high_watermark, partition.last_stable_offset) == (10, 0), "the marker may still be lost"
    partition.check()
    partition.on_followed(11, 0, 11)
    assert partition.last_stable_offset == 11
    partition.check()


def test_several_markers_may_be_copied_at_once() -> None:
    partition = follower()
    partition.on_followed(22, 210, 21, ended=[(20, 0), (21, 10)])
    assert (partition.high_watermark, partition.last_stable_offset) == (21, 10)
    partition.check()


def test_what_is_cut_off_was_not_committed() -> None:
    partition = follower()
    partition.on_followed(20, 200, 10)
    assert partition.on_truncated(12) == ()
    assert (partition.end_offset, partition.high_watermark) == (12, 10)
    partition.check()
    assert partition.on_followed(12, 0, 12) == (Committed(12, 12, UNKNOWN_SIZE, UNKNOWN_SIZE),)


def test_a_transaction_whose_marker_was_cut_off_is_open_again() -> None:
    partition = follower()
    partition.on_followed(10, 100, 10, 0)
    partition.on_followed(11, 5, 10, ended=[(10, 0)])
    partition.on_truncated(10, 0)
    partition.on_followed(20, 100, 20, 0)
    assert (partition.high_watermark, partition.last_stable_offset) == (20, 0)
    partition.check()


def test_a_marker_that_was_not_cut_off_still_has_to_be_committed() -> None:
    partition = follower()
    partition.on_followed(11, 105, 5, ended=[(10, 0)])
    partition.on_followed(20, 90, 5)
    partition.on_truncated(15, ended=[(3, 0), (10, 0)])
    partition.check()
    assert (partition.high_watermark, partition.last_stable_offset) == (5, 0)
    partition.on_followed(15, 0, 15)
    assert partition.last_stable_offset == 15


def test_an_unclean_election_takes_the_high_watermark_back() -> None:
    partition = follower(end_offset=10, high_watermark=10)
    partition.on_truncated(6)
    assert (partition.high_watermark, partition.last_stable_offset) == (6, 6)
    partition.check()


def test_a_log_that_begins_anew_is_committed_up_to_there() -> None:
    partition = follower(end_offset=10, high_watermark=10)
    partition.on_truncated(500, start_offset=500)
    assert (partition.end_offset, partition.high_watermark, partition.last_stable_offset) == (500, 500, 500)
    partition.check()


def test_a_leader_neither_copies_nor_cuts() -> None:
    partition = follower()
    assert partition.on_assigned(Assigned((1, 2, 3), (1, 2, 3), 1, 4, 8)) == (LeadershipBegan(4, 0),)
    with pytest.raises(AssertionError, match="a leader"):
        partition.on_followed(10, 100, 10)
    with pytest.raises(AssertionError, match="a leader"):
        partition.on_truncated(0)
