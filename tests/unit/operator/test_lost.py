"""Which partitions are lost, and what a person's word about them reaches."""

from __future__ import annotations

from dataclasses import replace

from millstream_operator.plan.lost import accepted, lost, lost_fields, token_of
from millstream_operator.plan.partitions import PartitionStanding

GONE = PartitionStanding("orders", 1, -1, (2,), (), 1, leader_epoch=4)
GROUPS = PartitionStanding("__consumer_offsets", 7, -1, (0, 1, 2), (), 2, is_internal=True, leader_epoch=9)


def test_lost_is_what_nobody_has_and_not_what_somebody_may_bring_back() -> None:
    served, waits = replace(GONE, leader=2, isr=(2,)), replace(GONE, isr=(2,))
    eligible = replace(GONE, may_lead=(1,))
    assert lost([served, waits, eligible, GONE]) == (GONE,)
    assert lost(None) == ()


def test_the_status_counts_them_and_names_a_token() -> None:
    assert lost_fields(()) is None
    fields = lost_fields([GONE, GROUPS])
    assert fields is not None
    assert (fields["partitions"], fields["internalPartitions"]) == (2, 1)


def test_a_person_accepts_what_was_shown_and_nothing_else() -> None:
    spec = {"acceptLoss": token_of([GONE, GROUPS])}
    assert accepted(spec, [GROUPS, GONE])
    assert not accepted(spec, [GONE])
    assert not accepted(spec, [GONE, replace(GROUPS, index=8)])
    assert not accepted({}, [GONE])


def test_what_is_lost_again_is_another_loss() -> None:
    assert token_of([GONE]) != token_of([replace(GONE, leader_epoch=6)])


def test_with_nothing_lost_no_word_does_anything() -> None:
    assert not accepted({"acceptLoss": token_of([])}, [])
