"""Given a partition's standing, one event, and all of its effects."""

import pytest

from millstream_broker.core.partition.commit_waits import CommitWait
from millstream_broker.core.partition.effects import (
    Committed,
    CommitWaitsEnded,
    Effect,
    LeadershipBegan,
    LeadershipEnded,
    LogGrew,
)
from millstream_broker.core.partition.standing import Assigned, Partition
from millstream_broker.core.partition.uncommitted import UNCOMMITTED_MAX
from millstream_wire.errors import ErrorCode


def assigned(leader: int, leader_epoch: int, partition_epoch: int, isr: tuple[int, ...] = (1,)) -> Assigned:
    return Assigned((1, 2, 3) if len(isr) > 1 else (1,), isr, leader, leader_epoch, partition_epoch)


def partition_of(end_offset: int = 0, high_watermark: int | None = None, first_unstable: int = -1) -> Partition:
    committed = end_offset if high_watermark is None else high_watermark
    return Partition(1, end_offset=end_offset, high_watermark=committed, first_unstable=first_unstable)


def leader(*isr: int, end_offset: int = 0) -> Partition:
    """Node 1 leads in epoch 3."""
    partition = partition_of(end_offset)
    partition.on_assigned(assigned(1, 3, 0, isr or (1,)))
    return partition


def fetch(partition: Partition, node: int, offset: int) -> tuple[Effect, ...]:
    return partition.on_fetched(node, offset, broker_epoch=1, now_ms=0, may_join=False)


def ignore(_: ErrorCode) -> None: ...


def ended(effects: tuple[Effect, ...]) -> list[tuple[CommitWait, ErrorCode]]:
    return [
        (wait, effect.error_code) for effect in effects if isinstance(effect, CommitWaitsEnded) for wait in effect.waits
    ]


# ---- leadership ----


def test_leadership_begins_at_the_end_of_the_log() -> None:
    partition = partition_of(42)
    assert partition.on_assigned(assigned(1, 3, 5)) == (LeadershipBegan(3, 42),)
    assert (partition.leads, partition.leader_epoch, partition.epoch_start_offset) == (True, 3, 42)
    partition.check()


def test_the_same_assignment_again_and_an_older_one_change_nothing() -> None:
    partition = partition_of()
    partition.on_assigned(assigned(1, 3, 5))
    assert partition.on_assigned(assigned(1, 3, 5)) == ()
    assert partition.on_assigned(assigned(2, 2, 4)) == ()
    assert partition.leads


def test_a_new_epoch_of_the_same_leader_ends_the_old_one() -> None:
    partition = partition_of(7)
    partition.on_assigned(assigned(1, 3, 5))
    assert partition.on_assigned(assigned(-1, 3, 6)) == (LeadershipEnded(),)
    assert partition.on_assigned(assigned(1, 4, 7)) == (LeadershipBegan(4, 7),)
    assert partition.on_assigned(assigned(1, 6, 9)) == (LeadershipEnded(), LeadershipBegan(6, 7))


def test_what_is_given_up_leads_no_more() -> None:
    partition = leader()
    assert partition.on_given_up() == (LeadershipEnded(),)
    assert partition.on_given_up() == ()
    assert partition.refusal(3) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition.check()


def test_who_is_shut_out_leads_no_more_though_it_knows_a_newer_isr() -> None:
    """Seed 438: the answer to an ISR change is known before the metadata that it makes, and a heartbeat says that this node is fenced."""
    partition = partition_of()
    partition.on_assigned(assigned(1, 3, 6))
    assert LeadershipEnded() in partition.on_assigned(assigned(-1, 3, 5, isr=(1, 2)))
    assert not partition.leads
    assert partition.on_assigned(assigned(1, 3, 5)) == ()
    partition.check()


def test_whoever_believes_in_another_epoch_is_refused() -> None:
    partition = partition_of()
    assert partition.refusal(-1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition.on_assigned(assigned(1, 3, 0))
    assert partition.refusal(-1) is ErrorCode.NONE
    assert partition.refusal(3) is ErrorCode.NONE
    assert partition.refusal(2) is ErrorCode.FENCED_LEADER_EPOCH
    assert partition.refusal(4) is ErrorCode.UNKNOWN_LEADER_EPOCH


# ---- what is committed ----


def test_a_leader_alone_in_the_isr_commits_what_it_appends() -> None:
    partition = leader(end_offset=40)
    assert partition.on_appended(50, 700) == (LogGrew(50, 700), Committed(50, 50, 700, 700))
    partition.check()


def test_the_same_is_committed_where_nobody_hears_of_it() -> None:
    heard, unheard = leader(), leader()
    for event in (10, 100), (20, 100, 10), (21, 5, -1, 10), (30, 100):
        heard.on_appended(*event)
        unheard.on_appended(*event, is_heard=False)
        unheard.check()
        for partition in heard, unheard:
            assert partition.high_watermark == event[0]
        assert heard.last_stable_offset == unheard.last_stable_offset
    effects = heard.on_appended(31, 5), unheard.on_appended(31, 5)
    assert effects[0] == effects[1] == (LogGrew(31, 5), Committed(31, 31, 5, 5))


def test_what_the_checkpoint_did_not_say_is_committed_when_a_leader_alone_begins() -> None:
    partition = partition_of(42, high_watermark=30)
    assert (partition.high_watermark, partition.last_stable_offset) == (30, 30)
    began, committed = partition.on_assigned(assigned(1, 3, 5))
    assert began == LeadershipBegan(3, 42)
    assert isinstance(committed, Committed)
    assert (committed.high_watermark, committed.last_stable_offset) == (42, 42)
    partition.check()


def test_the_high_watermark_is_what_all_of_the_isr_have() -> None:
    partition = leader(1, 2, 3)
    assert partition.on_appended(10, 100) == (LogGrew(10, 100),)
    assert partition.on_appended(20, 100) == (LogGrew(20, 100),)
    assert fetch(partition, 2, 20) == ()
    assert fetch(partition, 3, 10) == (Committed(10, 10, 100, 100),)
    assert fetch(partition, 3, 20) == (Committed(20, 20, 100, 100),)
    partition.check()


def test_a_follower_that_lost_its_end_takes_back_nothing_that_is_committed() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    fetch(partition, 2, 10)
    assert fetch(partition, 2, 4) == ()
    assert partition.high_watermark == 10
    partition.on_appended(20, 100)
    assert fetch(partition, 2, 15) == (Committed(15, 15, 100, 100),)


def test_who_is_no_replica_commits_nothing() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    assert fetch(partition, 9, 10) == ()
    assert fetch(partition, 1, 10) == ()
    assert partition.high_watermark == 0


def test_a_smaller_isr_commits_without_another_fetch() -> None:
    """KAFKA-13091: nobody may be left who would fetch."""
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    wait = partition.await_commit(9, ignore)
    effects = partition.on_assigned(assigned(1, 3, 1, (1,)))
    assert effects == (Committed(10, 10, 100, 100), CommitWaitsEnded([wait], ErrorCode.NONE))
    partition.check()


def test_what_followers_had_under_another_leader_counts_for_nothing() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    fetch(partition, 2, 10)
    partition.on_appended(20, 100)
    partition.on_assigned(assigned(1, 4, 1, (1, 2)))
    partition.on_appended(30, 100)
    assert partition.high_watermark == 10
    (committed,) = fetch(partition, 2, 30)
    assert isinstance(committed, Committed)
    assert committed.high_watermark == 30


def test_sizes_that_are_not_told_one_by_one_are_told_together() -> None:
    partition = leader(1, 2)
    for offset in range(1, UNCOMMITTED_MAX + 11):
        partition.on_appended(offset, 5)
    partition.check()
    (committed,) = fetch(partition, 2, UNCOMMITTED_MAX + 10)
    assert committed == Committed(UNCOMMITTED_MAX + 10, UNCOMMITTED_MAX + 10, *[5 * (UNCOMMITTED_MAX + 10)] * 2)


# ---- transactions ----


def test_an_open_transaction_holds_back_readers_of_committed_records() -> None:
    partition = leader()
    partition.on_appended(10, 100)
    assert partition.on_appended(20, 100, 10) == (LogGrew(20, 100), Committed(20, 10, 100, 0))
    assert partition.on_appended(30, 100, 10) == (LogGrew(30, 100), Committed(30, 10, 100, 0))
    assert partition.on_appended(31, 5, -1, 10) == (LogGrew(31, 5), Committed(31, 31, 5, 205))
    partition.check()


def test_a_transaction_is_undecided_until_its_marker_is_committed() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100, 0)
    partition.on_appended(11, 5, -1, 0)
    assert fetch(partition, 2, 10) == (Committed(10, 0, 100, 0),), "the marker may still be lost"
    partition.check()
    assert fetch(partition, 2, 11) == (Committed(11, 11, 5, 105),)
    partition.check()


def test_two_transactions_are_decided_one_after_the_other() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100, 0)
    partition.on_appended(20, 100, 0)  # another one, from 10 on
    partition.on_appended(21, 5, 10, 0)
    partition.on_appended(22, 5, -1, 10)
    assert fetch(partition, 2, 20) == (Committed(20, 0, 200, 0),)
    (committed,) = fetch(partition, 2, 21)
    assert isinstance(committed, Committed)
    assert committed.last_stable_offset == 10
    assert committed.stable_size >= 100, "no less than what became readable"
    (committed,) = fetch(partition, 2, 22)
    assert isinstance(committed, Committed)
    assert (committed.last_stable_offset, committed.stable_size >= 110) == (22, True)
    partition.check()


def test_a_transaction_that_was_open_when_the_log_was_opened_is_known() -> None:
    partition = partition_of(20, first_unstable=15)
    assert partition.last_stable_offset == 15
    partition.on_assigned(assigned(1, 3, 0))
    (_, committed) = partition.on_appended(21, 5, -1, 15)
    assert isinstance(committed, Committed)
    assert committed.last_stable_offset == 21
    assert committed.stable_size > 5, "also what was held back, of which nobody knows the size"


# ---- who waits for a commit ----


def test_waits_end_with_the_commit_of_their_offsets() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    first = partition.await_commit(4, ignore)
    second = partition.await_commit(9, ignore)
    assert ended(fetch(partition, 2, 5)) == [(first, ErrorCode.NONE)]
    assert ended(fetch(partition, 2, 9)) == []
    assert ended(fetch(partition, 2, 10)) == [(second, ErrorCode.NONE)]
    partition.check()


@pytest.mark.parametrize(
    "event",
    [assigned(2, 4, 1, (1, 2)), assigned(1, 4, 1, (1, 2)), assigned(-1, 3, 1, (1, 2)), assigned(1, 4, 1, (1,))],
    ids=["another leader", "the same leader again", "no leader", "alone in the next epoch"],
)
def test_no_wait_outlives_its_leader_epoch(event: Assigned) -> None:
    """KAFKA-20634: the high watermark may pass the offset again, over another record."""
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    wait = partition.await_commit(9, ignore)
    assert ended(partition.on_assigned(event)) == [(wait, ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    partition.check()


def test_waits_end_when_the_partition_is_given_up() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    wait = partition.await_commit(9, ignore)
    assert ended(partition.on_given_up()) == [(wait, ErrorCode.NOT_LEADER_OR_FOLLOWER)]


def test_cancelled_waits_do_not_pile_up() -> None:
    partition = leader(1, 2)
    partition.on_appended(10, 100)
    kept = partition.await_commit(9, ignore)
    for _ in range(1_000):
        partition.cancel(partition.await_commit(9, ignore))
    partition.check()
    assert len(partition._commit_waits._heap) < 200
    assert ended(fetch(partition, 2, 10)) == [(kept, ErrorCode.NONE)]
