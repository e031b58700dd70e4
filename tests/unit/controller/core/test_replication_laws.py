"""What the controller promises of copies, under courses by chance; and old mistakes, each of which such a course finds."""

from dataclasses import replace

import pytest
from replicated_course import Course, Violation

from millstream_cluster.image import Image
from millstream_controller.core import altered_configs
from millstream_controller.core.nodes import nodes
from millstream_controller.core.partitions import change, isr_changes
from millstream_controller.core.partitions.change import NOBODY, PRESENT, Cause
from millstream_controller.core.partitions.electorate import Electorate

SEEDS, STEPS = 60, 250
MUTANT_SEEDS = 200


def test_whoever_is_in_sync_or_eligible_has_what_was_acknowledged(new_cluster) -> None:
    seen: set[str] = set()
    for seed in range(SEEDS):
        course = Course(new_cluster(), seed)
        course.run(STEPS)
        replayed = Image()
        for offset, record in enumerate(course.cluster.history):
            replayed.apply(record, offset)
        assert replayed == course.cluster.image
        seen |= course.seen
    assert seen >= {
        "committed",
        "no ISR",
        "moved",
        "elected from the ISR",
        "elected from the ELR",
        "elected uncleanly",
        "proposal NONE",
        "proposal NEW_LEADER_ELECTED",
        "proposal FENCED_LEADER_EPOCH",
        "proposal INVALID_UPDATE_VERSION",
        "proposal INELIGIBLE_REPLICA",
    }


def unclean_restarts_taken_for_clean_ones(monkeypatch) -> None:
    real = nodes._end_of

    def end_of(before, wanted) -> Cause:
        found = real(before, wanted)
        return PRESENT if found.unclean else found

    monkeypatch.setattr(nodes, "_end_of", end_of)


def lost_copies_that_stay_eligible(monkeypatch) -> None:
    real = change._Draft.find_eligible
    monkeypatch.setattr(change._Draft, "find_eligible", lambda draft, cause: real(draft, replace(cause, lost=NOBODY)))


def an_elr_that_never_ends(monkeypatch) -> None:
    monkeypatch.setattr(Electorate, "min_isr", lambda *_: 99)


def an_elr_that_outlives_the_number_it_was_for(monkeypatch) -> None:
    monkeypatch.setattr(altered_configs, "changed_with", lambda *_: iter(()))


def fenced_brokers_that_are_elected(monkeypatch) -> None:
    real = Electorate.__init__

    def init(electorate, machine, **who) -> None:
        real(electorate, machine, **who)
        electorate.electable = frozenset(machine.image.brokers)

    monkeypatch.setattr(Electorate, "__init__", init)


def another_life_of_a_follower_let_in(monkeypatch) -> None:
    judging(monkeypatch, lambda proposal, _: replace(proposal, isr=tuple((node, -1) for node, _ in proposal.isr)))


def late_proposals_taken(monkeypatch) -> None:
    def present(proposal, partition):
        return replace(proposal, partition_epoch=partition.partition_epoch, leader_epoch=partition.leader_epoch)

    judging(monkeypatch, present)


def moves_that_end_at_once(monkeypatch) -> None:
    def completed(replicas, adding, removing, isr):
        remaining = tuple(node for node in isr if node not in removing)
        return (tuple(node for node in replicas if node not in removing), remaining) if remaining else None

    monkeypatch.setattr(change, "completed", completed)


def copies_in_sync_from_the_start_of_their_move(monkeypatch) -> None:
    real = change._Draft._in_sync

    def in_sync(draft, cause):
        coming = (node for node in draft.adding if node in draft.live)
        return tuple(dict.fromkeys((*real(draft, cause), *coming)))

    monkeypatch.setattr(change._Draft, "_in_sync", in_sync)


def judging(monkeypatch, altered) -> None:
    """Proposals are judged as if they were what `altered` makes of them."""
    real = isr_changes._wrong_with

    def wrong_with(machine, electorate, node_id, proposal, partition):
        return real(machine, electorate, node_id, altered(proposal, partition) if partition else proposal, partition)

    monkeypatch.setattr(isr_changes, "_wrong_with", wrong_with)


@pytest.mark.parametrize(
    "mistake",
    [
        unclean_restarts_taken_for_clean_ones,
        lost_copies_that_stay_eligible,
        an_elr_that_never_ends,
        an_elr_that_outlives_the_number_it_was_for,
        fenced_brokers_that_are_elected,
        another_life_of_a_follower_let_in,
        late_proposals_taken,
        moves_that_end_at_once,
        copies_in_sync_from_the_start_of_their_move,
    ],
)
def test_a_course_finds(mistake, new_cluster, monkeypatch) -> None:
    mistake(monkeypatch)
    for seed in range(MUTANT_SEEDS):
        try:
            Course(new_cluster(), seed).run(STEPS)
        except Violation:
            return
    pytest.fail("no course found it")
