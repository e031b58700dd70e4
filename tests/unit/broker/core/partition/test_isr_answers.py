"""What the controller answers to a proposed ISR, and what is committed until and after that."""

import pytest
from leading import LAG_MS, LEADER_EPOCH, PARTITION_EPOCH, assigned, fetch, leader, taken

from millstream_broker.core.partition.effects import (
    Committed,
    IsrMember,
    ProposeIsr,
)
from millstream_broker.core.partition.isr import IsrAnswer
from millstream_broker.core.partition.standing import Partition
from millstream_wire.errors import ErrorCode


def proposed() -> tuple[Partition, ProposeIsr]:
    """Node 3 would join 1 and 2, of which 2 already has more."""
    partition = leader(1, 2)
    partition.on_appended(20, 100)
    fetch(partition, 2, 15)
    (asked,) = fetch(partition, 3, 15)
    fetch(partition, 2, 20)
    assert isinstance(asked, ProposeIsr)
    assert partition.high_watermark == 15
    return partition, asked


def test_what_was_taken_is_the_isr() -> None:
    partition, asked = proposed()
    assert partition.on_isr_answered(asked, taken(1, 2, 3)) == ()
    assert partition.isr == (1, 2, 3)
    assert partition.on_assigned(assigned(1, 2, 3, partition_epoch=PARTITION_EPOCH + 1)) == ()
    assert fetch(partition, 3, 20) == (Committed(20, 20, 100, 100),)


def test_the_metadata_may_be_faster_than_the_answer() -> None:
    partition, asked = proposed()
    assert partition.on_assigned(assigned(1, 2, 3, partition_epoch=PARTITION_EPOCH + 1)) == ()
    assert partition.isr == (1, 2, 3)
    fetch(partition, 3, 20)
    partition.on_tick(0, LAG_MS)
    partition.on_appended(30, 100)
    (next_one,) = partition.on_tick(50_000, LAG_MS)
    assert isinstance(next_one, ProposeIsr)
    assert partition.on_isr_answered(asked, taken(1, 2, 3)) == (), "of the proposal before"
    partition.check()
    assert partition.on_assigned(assigned(1, partition_epoch=PARTITION_EPOCH + 2)) != ()
    assert partition.isr == (1,)
    assert partition.on_isr_answered(next_one, taken(1, partition_epoch=PARTITION_EPOCH + 2)) == (), "no news"
    assert partition.isr == (1,)


@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_what_was_refused_counts_no_more(code: ErrorCode) -> None:
    partition, asked = proposed()
    assert partition.on_isr_answered(asked, IsrAnswer(code)) == (Committed(20, 20, 100, 100),)
    assert partition.isr == (1, 2)
    assert fetch(partition, 3, 20) == (asked,), "its next fetch proposes it again"


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NEW_LEADER_ELECTED]
)
def test_who_is_behind_waits_for_the_metadata(code: ErrorCode) -> None:
    """The proposal may have been taken the first time, and its answer lost: so both count."""
    partition, asked = proposed()
    assert partition.on_isr_answered(asked, IsrAnswer(code)) == ()
    assert fetch(partition, 2, 20) == fetch(partition, 3, 15) == ()
    assert partition.high_watermark == 15
    (committed,) = partition.on_assigned(assigned(1, 2, partition_epoch=PARTITION_EPOCH + 1))
    assert committed == Committed(20, 20, 100, 100)


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.STALE_BROKER_EPOCH])
def test_what_is_not_known_is_asked_again(code: ErrorCode) -> None:
    partition, asked = proposed()
    assert partition.on_isr_answered(asked, IsrAnswer(code)) == (asked,)
    assert partition.high_watermark == 15
    partition.on_assigned(assigned(1, 2, partition_epoch=PARTITION_EPOCH + 1))
    assert partition.on_isr_answered(asked, IsrAnswer(code)) == ()


LOST = IsrAnswer(ErrorCode.REQUEST_TIMED_OUT)
REFUSED = IsrAnswer(ErrorCode.INELIGIBLE_REPLICA)


def test_a_refusal_does_not_end_what_may_still_arrive() -> None:
    """The request whose answer was lost may be late, and be taken when node 3 is eligible again."""
    partition, asked = proposed()
    assert partition.on_isr_answered(asked, LOST) == (asked,)
    assert partition.on_isr_answered(asked, REFUSED) == (asked,)
    assert partition.high_watermark == 15
    partition.check()
    assert partition.on_isr_answered(asked, taken(1, 2, 3)) == ()
    assert partition.isr == (1, 2, 3)


def test_what_may_still_arrive_is_over_when_who_was_to_join_has_another_life() -> None:
    """Its registration is known here, or it would not be heard; so the controller refuses its earlier life from then on."""
    partition, asked = proposed()
    partition.on_isr_answered(asked, LOST)
    partition.on_isr_answered(asked, REFUSED)
    assert fetch(partition, 3, 15) == (), "the same life"
    assert fetch(partition, 3, 3, broker_epoch=200) == (Committed(20, 20, 100, 100),)
    assert partition.on_isr_answered(asked, REFUSED) == ()
    assert fetch(partition, 3, 20, broker_epoch=200) == (
        ProposeIsr((IsrMember(1, -1), IsrMember(2, 102), IsrMember(3, 200)), LEADER_EPOCH, PARTITION_EPOCH),
    )


def test_a_life_of_somebody_else_ends_no_doubt() -> None:
    partition, asked = proposed()
    partition.on_isr_answered(asked, LOST)
    assert fetch(partition, 2, 20, broker_epoch=200) == ()
    assert partition.on_isr_answered(asked, REFUSED) == (asked,)


def test_who_was_to_leave_is_in_sync_after_a_refusal_whatever_is_late() -> None:
    """Both ISRs counted, and the larger one does still: a late request only makes it smaller."""
    partition = leader(1, 2, 3)
    for node in 2, 3:
        fetch(partition, node, 10, 0)
    partition.on_appended(20, 100)
    fetch(partition, 2, 20, 40_000)
    (asked,) = partition.on_tick(40_000, LAG_MS)
    assert isinstance(asked, ProposeIsr)
    assert partition.on_isr_answered(asked, LOST) == (asked,)
    assert partition.on_isr_answered(asked, REFUSED) == ()
    assert partition.on_tick(40_000, LAG_MS) == (asked,)
    partition.check()


def test_no_answer_outlives_the_leader_epoch() -> None:
    partition, asked = proposed()
    partition.on_assigned(assigned(1, 2, leader_epoch=4, partition_epoch=8))
    partition.check()
    for answer in taken(1, 2, 3, partition_epoch=9), IsrAnswer(ErrorCode.INELIGIBLE_REPLICA):
        assert partition.on_isr_answered(asked, answer) == ()
    assert partition.isr == (1, 2)


def test_no_answer_outlives_the_leadership() -> None:
    partition, asked = proposed()
    partition.on_given_up()
    partition.check()
    assert partition.on_isr_answered(asked, taken(1, 2, 3)) == ()


def test_an_answer_that_names_a_later_leader_epoch_is_left_to_the_metadata() -> None:
    partition, asked = proposed()
    answer = IsrAnswer(ErrorCode.NONE, (2, 3), LEADER_EPOCH + 1, PARTITION_EPOCH + 1)
    assert partition.on_isr_answered(asked, answer) == ()
    assert partition.isr == (1, 2)
    assert partition.high_watermark == 15
