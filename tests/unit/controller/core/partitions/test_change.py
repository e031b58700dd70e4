"""The next state of a partition: who is in sync, who is eligible, who leads, and which epochs rise."""

from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster.ids import NO_NODE, UNASSIGNED_DIRECTORY
from millstream_cluster.records import FenceReason, LeaderRecoveryState, NodeFenced
from millstream_controller.core.nodes import nodes
from millstream_controller.core.partitions.change import Cause, Election, next_state
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.losses import Loss, lose_replicas
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode


def led(leader=NO_NODE, isr=(), elr=(), last=()):
    return (leader, tuple(isr), tuple(elr), tuple(last))


def state(cluster, topic="t"):
    p = cluster.partition(topic)
    return (p.leader, p.isr, p.eligible_leader_replicas, p.last_known_elr)


def test_a_follower_that_is_fenced_leaves_the_isr_and_its_leader_stays_in_its_epoch(three) -> None:
    before = three.partition()
    three.fence(3)
    epoch = three.image.node(3).epoch
    assert three.history[-2:] == [before.changed(isr=(1, 2)), NodeFenced(3, epoch, reason=FenceReason.SILENT)]
    assert three.partition().leader_epoch == before.leader_epoch


def test_a_leader_that_is_fenced_gives_way_to_the_next_in_sync_in_a_new_epoch(three) -> None:
    three.fence(1)
    assert state(three) == led(2, (2, 3))
    assert (three.partition().leader_epoch, three.partition().partition_epoch) == (1, 1)


def test_who_leaves_an_isr_that_falls_below_its_least_size_stays_eligible(three) -> None:
    three.fence(3)
    three.fence(2)
    assert state(three) == led(1, (1,), elr=(2,))
    three.fence(1)
    assert state(three) == led(elr=(1, 2), last=(1,))
    assert three.partition().leader_recovery_state is LeaderRecoveryState.RECOVERED


def test_who_left_an_isr_that_was_large_enough_without_it_is_not_eligible(three) -> None:
    """It does not have what was committed after it left."""
    three.fence(3)
    three.fence(2)
    three.fence(1)
    three.register(3, clean=True)
    assert state(three) == led(elr=(1, 2), last=(1,))


def test_an_eligible_replica_leads_again_cleanly_and_the_others_stay_eligible(three) -> None:
    for node in (3, 2, 1):
        three.fence(node)
    three.beat(2)
    assert state(three) == led(2, (2,), elr=(1,))
    assert three.partition().leader_recovery_state is LeaderRecoveryState.RECOVERED
    three.beat(1)
    assert three.propose("t", (2, 1)) == 0
    assert state(three) == led(2, (2, 1))


def test_somebody_in_sync_leads_before_anybody_who_is_only_eligible(three) -> None:
    """Who is in sync is further on: the eligible one would cut what it has of the same epoch."""
    three.create(
        NewTopic("most", assignments=((0, (1, 2, 3)),), configs=(("min.insync.replicas", "3"),)),
    )
    three.fence(1)
    three.beat(1)
    assert state(three, "most") == led(2, (2, 3), elr=(1,))
    three.fence(2)
    assert state(three, "most") == led(3, (3,), elr=(1, 2))


def test_an_unclean_restart_leaves_isr_and_elr_in_one_decision_with_a_raised_leader_epoch(three) -> None:
    three.fence(3)
    three.fence(2)
    assert state(three) == led(1, (1,), elr=(2,))
    epoch = three.partition().leader_epoch
    offset = three.image.offset
    three.register(2, beat=False)
    assert three.image.offset == offset + 2
    assert state(three) == led(1, (1,), last=(2,))
    assert three.partition().leader_epoch == epoch + 1
    assert three.image.node(2).fenced


def test_an_unclean_restart_of_a_follower_in_sync_ends_the_leaders_epoch(three) -> None:
    before = three.partition()
    three.register(3, beat=False)
    assert state(three) == led(1, (1, 2))
    assert three.partition().leader_epoch == before.leader_epoch + 1


def test_a_clean_restart_of_a_follower_in_sync_does_not(three) -> None:
    before = three.partition()
    three.register(3, clean=True, beat=False)
    assert state(three) == led(1, (1, 2))
    assert three.partition().leader_epoch == before.leader_epoch


def test_the_last_leader_is_elected_where_nobody_else_is_known_and_only_when_it_is_back(three) -> None:
    for node in (3, 2, 1):
        three.fence(node)
    three.register(2)
    assert state(three) == led(elr=(1,), last=(1,))
    three.register(1, beat=False)
    assert state(three) == led(last=(1,))
    three.register(3)
    assert state(three) == led(last=(1,)), "neither a fenced leader nor somebody who was never eligible"
    three.beat(1)
    assert state(three) == led(1, (1,))
    assert three.partition().leader_recovery_state is LeaderRecoveryState.RECOVERING


def test_a_last_leader_whose_copy_is_gone_is_not_the_last_leader(three) -> None:
    for node in (3, 2):
        three.register(node)
    assert state(three) == led(1, (1,), last=(2,))
    three.register(1, disk=1)
    assert state(three) == led(last=())


def test_a_copy_that_is_gone_is_neither_in_sync_nor_eligible(three) -> None:
    three.fence(3)
    three.fence(2)
    epoch = three.register(2, clean=True)
    key = (three.partition().topic_id, 0)
    before = three.partition()
    told = lose_replicas(three.machine, Loss(2, epoch, (key,)))
    assert told.records == (before.changed(eligible_leader_replicas=(), leader_epoch=before.leader_epoch + 1),)


def test_the_elr_ends_when_the_isr_has_grown_again(three) -> None:
    three.fence(3)
    three.fence(2)
    three.register(3)
    assert state(three) == led(1, (1,), elr=(2,))
    assert three.propose("t", (1, 3)) == 0
    assert state(three) == led(1, (1, 3))


def test_a_single_replica_stays_in_sync_whatever_its_broker_does(three) -> None:
    three.create(NewTopic("one", assignments=((0, (3,)),)))
    three.fence(3)
    assert state(three, "one") == led(isr=(3,))
    three.register(3)
    assert state(three, "one") == led(3, (3,))
    three.register(3, disk=1)
    assert state(three, "one") == led()


@pytest.mark.parametrize("enabled", [True, False])
def test_a_topic_that_accepts_losses_gets_a_leader_at_once(three, enabled) -> None:
    configs = (("unclean.leader.election.enable", str(enabled).lower()),)
    three.create(NewTopic("u", assignments=((0, (1, 2)),), configs=configs))
    assert three.propose("u", (1,)) == 0
    three.fence(1)
    if enabled:
        assert state(three, "u") == led(2, (2,))
        assert three.partition("u").leader_recovery_state is LeaderRecoveryState.RECOVERING
    else:
        assert state(three, "u") == led(elr=(1,), last=(1,))


def test_coordinators_topics_never_accept_losses(three) -> None:
    configs = (("unclean.leader.election.enable", "true"), ("min.insync.replicas", "1"))
    three.create(NewTopic("__consumer_offsets", assignments=((0, (1, 2)),), configs=configs))
    assert three.propose("__consumer_offsets", (1,)) == 0
    three.fence(1)
    assert state(three, "__consumer_offsets") == led(elr=(1,), last=(1,))


def test_who_is_about_to_stop_leads_only_while_nobody_else_can(three) -> None:
    three.create(NewTopic("two", assignments=((0, (1, 2)),)))
    assert three.propose("two", (1,)) == 0
    assert not three.beat(1, want_shut_down=True).should_shut_down
    assert state(three) == led(2, (2, 3))
    assert state(three, "two") == led(1, (1,))
    assert three.propose("two", (1, 2)) is ErrorCode.NEW_LEADER_ELECTED
    assert state(three, "two") == led(2, (1, 2))


def test_a_move_ends_when_all_who_come_are_in_sync_and_takes_the_leader_with_it(three) -> None:
    three.register(4)
    begins = next_state(
        three.partition(),
        Electorate(three.machine),
        Cause(replicas=(1, 2, 3, 4), adding_replicas=(4,), removing_replicas=(1,)),
    )
    assert begins == three.partition().changed(replicas=(1, 2, 3, 4), adding_replicas=(4,), removing_replicas=(1,))
    three.machine.apply(begins)
    three.history.append(begins)
    assert three.propose("t", (1, 2, 3, 4)) is ErrorCode.NEW_LEADER_ELECTED
    moved = three.partition()
    assert (moved.replicas, moved.isr, moved.leader, moved.leader_epoch) == ((2, 3, 4), (2, 3, 4), 2, 1)
    assert (moved.adding_replicas, moved.removing_replicas) == ((), ())


def test_a_replica_that_comes_has_its_directory_still_to_be_chosen(three) -> None:
    kept = tuple(UUID(int=number) for number in (7, 8, 9))
    partition = replace(three.partition(), directories=kept)
    moving = next_state(partition, Electorate(three.machine), Cause(replicas=(3, 4, 1), adding_replicas=(4,)))
    assert moving.directories == (kept[2], UNASSIGNED_DIRECTORY, kept[0])


def test_a_move_does_not_end_while_those_who_stay_are_too_few(three) -> None:
    """A copy that is given up is nobody's in case of need any more."""
    three.register(4)
    three.fence(1)
    assert three.propose("t", (2, 3)) is ErrorCode.NONE
    moving = next_state(
        three.partition(),
        Electorate(three.machine),
        Cause(replicas=(1, 4, 2, 3), adding_replicas=(4,), removing_replicas=(2, 3)),
    )
    three.machine.apply(moving)
    three.history.append(moving)
    assert three.propose("t", (2, 3, 4)) is ErrorCode.NONE
    assert three.partition().removing_replicas == (2, 3)
    three.beat(1)
    assert three.propose("t", (2, 3, 4, 1)) is ErrorCode.NEW_LEADER_ELECTED
    assert (three.partition().replicas, three.partition().isr) == ((1, 4), (4, 1))


def test_a_preferred_election_that_changes_nothing_is_no_record(three) -> None:
    assert next_state(three.partition(), Electorate(three.machine), Cause(election=Election.PREFERRED)) is None


def test_a_registration_of_a_broker_in_very_many_isrs_is_asked_to_come_again(three, monkeypatch) -> None:
    monkeypatch.setattr(nodes, "RECORDS_MAX", 1)
    before = three.image.node(3)
    assert three.enter(3).outcome.error is ErrorCode.REQUEST_TIMED_OUT
    assert state(three) == led(1, (1, 2))
    assert three.image.node(3) == before
    assert three.enter(3).outcome.error is ErrorCode.NONE
