"""Who is in sync with a leader: who lags, who may join, and what all of it commits."""

from leading import LAG_MS, LEADER_EPOCH, PARTITION_EPOCH, assigned, fetch, ignore, leader, proposal, taken

from millstream_broker.core.partition.effects import (
    Committed,
    CommitWaitsEnded,
    IsrMember,
    LogStartsMoved,
    ProposeIsr,
)
from millstream_broker.core.partition.standing import Assigned, Partition
from millstream_wire.errors import ErrorCode

# ---- who lags ----


def test_who_does_not_keep_up_leaves() -> None:
    partition = leader(1, 2, 3)
    for node in 2, 3:
        fetch(partition, node, 10, 0)
    partition.on_appended(20, 100)
    fetch(partition, 2, 20, 500)
    assert partition.on_tick(LAG_MS, LAG_MS) == ()
    assert partition.on_tick(LAG_MS + 1, LAG_MS) == (proposal(1, 2),)
    assert partition.isr == (1, 2, 3), "until the controller says so"
    partition.check()


def test_all_that_lag_leave_at_once() -> None:
    partition = leader(1, 2, 3)
    for node in 2, 3:
        fetch(partition, node, 10, 0)
    partition.on_appended(20, 100)
    assert partition.on_tick(LAG_MS + 1, LAG_MS) == (proposal(1),)


def test_who_has_everything_does_not_lag_however_long_ago_it_said_so() -> None:
    partition = leader(1, 2)
    fetch(partition, 2, 10, 0)
    assert partition.on_tick(100 * LAG_MS, LAG_MS) == ()
    partition.on_appended(20, 100)
    assert partition.on_tick(100 * LAG_MS, LAG_MS) == (proposal(1),)


def test_who_reaches_where_the_leader_was_a_fetch_ago_kept_up_until_then() -> None:
    """Otherwise nobody is in sync with a leader to whom something is always written."""
    partition = leader(1, 2)
    for step in range(20):
        partition.on_appended(20 + 10 * step, 100)
        fetch(partition, 2, 10 * (step + 1), 900 * step)
        assert partition.on_tick(900 * step, LAG_MS) == ()


def test_who_is_a_fetch_behind_kept_up_until_the_fetch_before_and_no_longer() -> None:
    partition = leader(1, 2)
    fetch(partition, 2, 10, 0)
    partition.on_appended(20, 100)
    fetch(partition, 2, 10, 100)
    partition.on_appended(30, 100)
    fetch(partition, 2, 20, 900)
    assert partition.on_tick(100 + LAG_MS, LAG_MS) == ()
    assert partition.on_tick(101 + LAG_MS, LAG_MS) == (proposal(1),)


def test_a_fetch_that_is_told_late_is_not_the_last_one() -> None:
    partition = leader(1, 2)
    fetch(partition, 2, 10, 0)
    partition.on_appended(20, 100)
    fetch(partition, 2, 10, 500)
    fetch(partition, 2, 10, 100)
    partition.on_appended(30, 100)
    fetch(partition, 2, 20, 900)
    assert partition.on_tick(500 + LAG_MS, LAG_MS) == ()
    assert partition.on_tick(501 + LAG_MS, LAG_MS) == (proposal(1),)


def test_who_fetches_and_does_not_get_nearer_lags() -> None:
    partition = leader(1, 2)
    fetch(partition, 2, 10, 0)
    for step in range(1, 10):
        partition.on_appended(1_000 * step, 100)
        fetch(partition, 2, 10 + step, 300 * step)
    assert partition.on_tick(2_700, LAG_MS) == (proposal(1),)


def test_a_fetch_counts_from_when_it_arrived() -> None:
    """KIP-501: what a slow disk of the leader takes is no fault of the follower; fetches may be told in another order, too."""
    partition = leader(1, 2)
    fetch(partition, 2, 10, 900)
    fetch(partition, 2, 10, 100)
    partition.on_appended(20, 100)
    assert partition.on_tick(900 + LAG_MS, LAG_MS) == ()
    assert partition.on_tick(901 + LAG_MS, LAG_MS) == (proposal(1),)


def test_who_says_that_it_cannot_append_leaves_at_once() -> None:
    partition = leader(1, 2, 3)
    for node in 2, 3:
        fetch(partition, node, 10, 0)
    partition.on_appended(20, 100)
    assert fetch(partition, 2, 10, 1, cannot_append=True) == (proposal(1, 3),)
    assert fetch(partition, 2, 10, 2, cannot_append=True) == (), "that is proposed"


def test_who_cannot_append_commits_what_it_has_nevertheless() -> None:
    partition = leader(1, 2)
    partition.on_appended(20, 100)
    committed = Committed(15, 15, 100, 100)
    assert fetch(partition, 2, 15, cannot_append=True) == (committed, proposal(1))


def test_who_cannot_append_while_something_else_is_proposed_leaves_at_the_next_look() -> None:
    partition = leader(1, 2)
    asked = proposal(1, 2, 3)
    assert fetch(partition, 3, 10) == (proposal(1, 2, 3, unheard=(2,)),)
    partition.on_appended(20, 100)
    assert fetch(partition, 2, 10, cannot_append=True) == ()
    partition.on_isr_answered(asked, taken(1, 2, 3))
    assert partition.on_tick(1, LAG_MS) == (proposal(1, 3, partition_epoch=PARTITION_EPOCH + 1),)


def test_who_cannot_append_joins_once_it_can_and_has_caught_up() -> None:
    partition = leader(1, 3)
    assert fetch(partition, 2, 10, cannot_append=True) == (), "it has everything, and would hold up the next record"
    assert fetch(partition, 2, 10) == (proposal(1, 3, 2, unheard=(3,)),)


def test_who_never_fetched_has_its_time_from_the_first_look_on() -> None:
    partition = leader(1, 2)
    partition.on_appended(20, 100)
    assert partition.on_tick(50_000, LAG_MS) == ()
    assert partition.on_tick(50_000 + LAG_MS, LAG_MS) == ()
    assert partition.on_tick(50_001 + LAG_MS, LAG_MS) == (proposal(1, unheard=(2,)),)


def test_what_was_heard_in_the_epoch_before_says_nothing() -> None:
    partition = leader(1, 2)
    fetch(partition, 2, 10, 0)
    partition.on_assigned(assigned(1, 2, leader_epoch=4, partition_epoch=8))
    partition.on_appended(20, 100)
    assert partition.on_tick(50_000, LAG_MS) == ()


def test_a_follower_judges_nobody() -> None:
    partition = Partition(1, end_offset=10, high_watermark=0)
    partition.on_assigned(Assigned((1, 2, 3), (1, 2, 3), 2, 3, 7))
    assert partition.on_tick(0, LAG_MS) == partition.on_tick(50_000, LAG_MS) == ()


# ---- who may join ----


def test_who_has_all_that_is_committed_joins() -> None:
    partition = leader(1, 2)
    partition.on_appended(20, 100)
    fetch(partition, 2, 15)
    assert fetch(partition, 3, 14) == ()
    assert fetch(partition, 3, 15) == (proposal(1, 2, 3),)
    assert partition.isr == (1, 2)


def test_a_fetch_may_commit_and_join_at_once() -> None:
    partition = leader(1)
    partition.on_appended(20, 100)
    assert fetch(partition, 2, 20) == (proposal(1, 2),)
    partition.on_isr_answered(proposal(1, 2), taken(1, 2))
    partition.on_appended(30, 100)
    fetch(partition, 3, 20, may_join=False)
    assert fetch(partition, 2, 30) == (Committed(30, 30, 100, 100),)


def test_who_lacks_what_leaders_before_may_have_committed_does_not_join() -> None:
    """KAFKA-7128: a new leader's high watermark may be behind, the start of its epoch is not."""
    partition = leader(1, 2, end_offset=10, high_watermark=4)
    assert fetch(partition, 3, 4) == ()
    assert fetch(partition, 3, 9) == ()
    assert fetch(partition, 3, 10) == (proposal(1, 2, 3, unheard=(2,)),)


def test_who_is_fenced_stops_or_lived_before_does_not_join() -> None:
    """KIP-841, KIP-903."""
    partition = leader(1, 2)
    assert fetch(partition, 3, 10, may_join=False) == ()
    assert fetch(partition, 3, 10) == (proposal(1, 2, 3, unheard=(2,)),)


def test_a_late_fetch_of_an_earlier_life_says_nothing() -> None:
    partition = leader(1, 2)
    partition.on_appended(20, 100)
    fetch(partition, 2, 12, broker_epoch=200)
    assert fetch(partition, 2, 20, broker_epoch=102) == ()
    assert partition.high_watermark == 12
    assert fetch(partition, 3, 12, broker_epoch=201) == (
        ProposeIsr((IsrMember(1, -1), IsrMember(2, 200), IsrMember(3, 201)), LEADER_EPOCH, PARTITION_EPOCH),
    )


def test_who_joins_has_the_whole_time_again() -> None:
    partition = leader(1, 2)
    fetch(partition, 3, 10, 0, may_join=False)
    partition.on_appended(20, 100)
    fetch(partition, 2, 11, 5_000)
    assert fetch(partition, 3, 11, 5_000) == (proposal(1, 2, 3),)
    partition.on_isr_answered(proposal(1, 2, 3), taken(1, 2, 3))
    fetch(partition, 2, 20, 5_500)
    assert partition.on_tick(5_000 + LAG_MS, LAG_MS) == ()
    assert partition.on_tick(5_001 + LAG_MS, LAG_MS) == (proposal(1, 2, partition_epoch=PARTITION_EPOCH + 1),)


def test_who_is_no_replica_neither_joins_nor_counts() -> None:
    partition = leader(1, 2)
    assert fetch(partition, 9, 10) == ()
    assert fetch(partition, 1, 10) == ()


# ---- one proposal at a time, and what counts meanwhile ----


def test_nobody_is_proposed_while_an_answer_is_awaited() -> None:
    partition = leader(1)
    partition.on_appended(20, 100)
    assert fetch(partition, 2, 20, 0) == (proposal(1, 2),)
    assert fetch(partition, 3, 20, 0) == ()
    partition.on_tick(0, LAG_MS)
    assert partition.on_tick(50_000, LAG_MS) == ()


def test_who_was_proposed_holds_back_what_is_committed() -> None:
    """The controller may have let it in, and may elect it, long before we hear of it."""
    partition = leader(1, 2)
    fetch(partition, 2, 10)
    assert fetch(partition, 3, 10) == (proposal(1, 2, 3),)
    partition.on_appended(20, 100)
    assert fetch(partition, 2, 20) == ()
    assert partition.high_watermark == 10
    assert fetch(partition, 3, 15) == (Committed(15, 15, 100, 100),)


def test_who_is_to_leave_holds_back_what_is_committed_until_it_has_left() -> None:
    partition = leader(1, 2)
    fetch(partition, 2, 10, 0)
    partition.on_appended(20, 100)
    wait = partition.await_commit(19, ignore)
    (asked,) = partition.on_tick(50_000, LAG_MS)
    assert partition.high_watermark == 10
    assert isinstance(asked, ProposeIsr)
    assert partition.on_isr_answered(asked, taken(1)) == (), "the metadata may say that more have to be in sync"
    assert partition.isr == (1, 2)
    assert partition.on_assigned(assigned(1, partition_epoch=PARTITION_EPOCH + 1)) == (
        Committed(20, 20, 100, 100),
        CommitWaitsEnded([wait], ErrorCode.NONE),
    ), "KAFKA-13091: nobody is left who would fetch"
    assert partition.isr == (1,)
    partition.check()


def test_who_left_under_a_larger_min_isr_misses_nothing_that_is_committed() -> None:
    """The controller knew min.insync.replicas=2 when it took the ISR, so who left may be elected; this broker learns it later."""
    partition = leader(1, 2)
    fetch(partition, 2, 10, 0)
    partition.on_appended(20, 100)
    (asked,) = partition.on_tick(50_000, LAG_MS)
    assert isinstance(asked, ProposeIsr)
    assert partition.on_isr_answered(asked, taken(1)) == ()
    assert partition.on_configured(2) == ()
    assert partition.on_assigned(assigned(1, partition_epoch=PARTITION_EPOCH + 1)) == ()
    assert partition.high_watermark == 10
    partition.check()


def test_a_leader_alone_commits_with_the_append_until_it_proposes_somebody() -> None:
    partition = leader(1)
    assert partition.on_appended(20, 100)[1:] == (Committed(20, 20, 100, 100),)
    fetch(partition, 2, 20)
    assert partition.on_appended(30, 100)[1:] == ()
    assert partition.on_appended(31, 100, is_heard=False)[1:] == ()
    assert partition.high_watermark == 20


# ---- the least that has to be in sync (KIP-966) ----


def test_nothing_is_committed_while_too_few_are_in_sync() -> None:
    partition = leader(1, 2, min_insync_replicas=2)
    fetch(partition, 2, 10, 0)
    partition.on_appended(20, 100)
    (asked,) = partition.on_tick(50_000, LAG_MS)
    assert isinstance(asked, ProposeIsr)
    assert partition.on_isr_answered(asked, taken(1)) == ()
    assert partition.on_appended(30, 100)[1:] == ()
    assert partition.on_appended(31, 100, is_heard=False)[1:] == ()
    assert partition.high_watermark == 10
    partition.check()


def test_a_proposal_is_not_enough_to_be_in_sync() -> None:
    partition = leader(1, min_insync_replicas=2)
    partition.on_appended(20, 100)
    assert fetch(partition, 2, 20) == (proposal(1, 2),)
    assert partition.high_watermark == 10
    assert partition.on_isr_answered(proposal(1, 2), taken(1, 2)) == (Committed(20, 20, 100, 100),)


def test_a_topic_that_asks_for_less_commits_what_waited() -> None:
    partition = leader(1, min_insync_replicas=2)
    partition.on_appended(20, 100)
    assert partition.on_configured(2) == ()
    assert partition.on_configured(1) == (Committed(20, 20, 100, 100),)
    assert partition.on_configured(3) == ()
    assert partition.high_watermark == 20, "what is committed stays committed"
    partition.check()


def test_no_more_replicas_can_be_in_sync_than_there_are() -> None:
    partition = Partition(1, end_offset=0, high_watermark=0, min_insync_replicas=2)
    partition.on_assigned(Assigned((1,), (1,), 1, 3, 0))
    assert partition.on_appended(20, 100)[1:] == (Committed(20, 20, 100, 100),)


# ---- what else fetches tell ----


def test_a_new_leader_does_not_know_what_is_committed_before_its_followers_say_so() -> None:
    partition = leader(1, 2, end_offset=10, high_watermark=4)
    assert not partition.knows_high_watermark
    fetch(partition, 2, 9)
    assert not partition.knows_high_watermark
    fetch(partition, 2, 10)
    assert partition.knows_high_watermark


def test_deleted_records_are_told_by_where_logs_begin() -> None:
    partition = leader(1, 2)
    tell = {"broker_epoch": 102, "now_ms": 0, "may_join": False}
    assert partition.on_fetched(2, 10, log_start_offset=0, **tell) == (LogStartsMoved(),)
    assert partition.on_fetched(2, 10, log_start_offset=0, **tell) == ()
    assert partition.on_fetched(2, 10, log_start_offset=5, **tell) == (LogStartsMoved(),)
    progress = partition.follower(2)
    assert progress is not None
    assert progress.log_start_offset == 5
