"""A leader whose log refuses appends asks for another leader."""

from dataclasses import replace

from leading import LEADER_EPOCH, PARTITION_EPOCH, assigned, fetch, leader, proposal, taken

from millstream_broker.core.partition.effects import (
    ProposeIsr,
)
from millstream_broker.core.partition.isr import IsrAnswer
from millstream_broker.core.partition.standing import Assigned, Partition
from millstream_wire.errors import ErrorCode


def resigning(*isr: int) -> ProposeIsr:
    return replace(proposal(*isr), resigns=True)


def test_a_leader_whose_log_refuses_asks_for_another_one() -> None:
    partition = leader(1, 2, 3)
    for node in 2, 3:
        fetch(partition, node, 10)
    assert partition.on_append_refused() == (resigning(1, 2, 3),)
    partition.check()
    assert partition.leads, "until the metadata says otherwise"
    assert partition.on_append_refused() == (), "that is asked"


def test_a_leader_without_another_in_sync_goes_on() -> None:
    assert leader(1).on_append_refused() == ()


def test_a_follower_cannot_give_up_what_it_does_not_lead() -> None:
    partition = Partition(2, end_offset=10, high_watermark=10)
    partition.on_assigned(assigned(1, 2, 3))
    assert partition.on_append_refused() == ()


def test_a_leader_that_nobody_can_relieve_goes_on() -> None:
    partition = leader(1, 2)
    (asked,) = partition.on_append_refused()
    assert isinstance(asked, ProposeIsr)
    assert partition.on_isr_answered(asked, IsrAnswer(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)) == ()
    assert (partition.leads, partition.isr) == (True, (1, 2))
    assert partition.on_append_refused() == (asked,), "when its shell finds that it is time again"


def test_a_leader_that_is_relieved_commits_only_what_all_have_who_were_in_sync() -> None:
    """It hears of that by the metadata; the next leader is one of them."""
    partition = leader(1, 2)
    (asked,) = partition.on_append_refused()
    assert isinstance(asked, ProposeIsr)
    assert partition.on_isr_answered(asked, IsrAnswer(ErrorCode.NEW_LEADER_ELECTED)) == ()
    partition.on_appended(11, 10)
    assert fetch(partition, 2, 10) == ()
    assert partition.high_watermark == 10
    later = Assigned((1, 2, 3), (2,), 2, LEADER_EPOCH + 1, PARTITION_EPOCH + 1)
    partition.on_assigned(later)
    partition.check()
    assert not partition.leads


def test_a_controller_that_does_not_know_of_it_changes_nothing() -> None:
    partition = leader(1, 2)
    (asked,) = partition.on_append_refused()
    assert isinstance(asked, ProposeIsr)
    assert partition.on_isr_answered(asked, taken(1, 2, partition_epoch=PARTITION_EPOCH)) == ()
    assert partition.on_append_refused() == (asked,)
