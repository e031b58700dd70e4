"""AlterPartition as a decision: what a leader proposes, and why it is refused."""

import pytest

from millstream_cluster.records import LeaderRecoveryState
from millstream_controller.core.partitions.elections import Ballot, ElectionType, elect_leaders
from millstream_controller.core.partitions.isr_changes import Proposal, Proposals, alter_partitions
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode


def judge(cluster, proposal, *, leader=1):
    return alter_partitions(cluster.machine, Proposals(leader, cluster.image.node(leader).epoch, (proposal,)))


def test_a_leader_takes_out_who_lags_and_lets_in_who_has_caught_up(three) -> None:
    before = three.partition()
    three_ids = tuple((node, three.image.node(node).epoch) for node in (1, 2))
    shrunk = judge(three, Proposal(before.topic_id, 0, 0, 0, three_ids))
    assert shrunk.records == (before.changed(isr=(1, 2)),)
    (verdict,) = three.do(shrunk).verdicts
    assert (verdict.error, verdict.state) == (ErrorCode.NONE, three.partition())
    assert three.propose("t", (1, 2, 3)) is ErrorCode.NONE
    assert three.partition().isr == (1, 2, 3)
    assert (three.partition().leader_epoch, three.partition().partition_epoch) == (0, 2)


def test_what_is_so_already_is_no_record(three) -> None:
    decision = judge(three, Proposal(three.partition().topic_id, 0, 0, 0, ((3, -1), (2, -1), (1, -1))))
    assert decision.records == ()
    assert decision.reply.verdicts[0].error is ErrorCode.NONE
    assert decision.reply.verdicts[0].state == three.partition()


@pytest.mark.parametrize(
    ("isr", "stale", "error"),
    [
        ((1, 2), {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ((1, 2), {"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ((1, 2), {"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ((1, 2), {"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
        ((1, 2), {"leader": 2}, ErrorCode.INVALID_REQUEST),
        ((1, 2), {"leader": 9}, ErrorCode.STALE_BROKER_EPOCH),
        ((1, 2), {"recovery": 1}, ErrorCode.INVALID_REQUEST),
        ((1,), {"recovery": 1}, ErrorCode.INVALID_REQUEST),
        ((1, 2), {"recovery": 2}, ErrorCode.INVALID_REQUEST),
        ((), {}, ErrorCode.INVALID_REQUEST),
        ((2, 3), {}, ErrorCode.INVALID_REQUEST),
        ((1, 1), {}, ErrorCode.INVALID_REQUEST),
        ((1, 4), {}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_does_not_start_from_the_present_state_is_refused(three, isr, stale, error) -> None:
    three.register(4)
    assert three.propose("t", (1, 2)) is ErrorCode.NONE
    before = three.partition()
    assert three.propose("t", isr, **stale) is error
    assert three.partition() == before


def test_nobody_joins_an_isr_who_is_fenced_or_about_to_stop_or_was_another_life(three) -> None:
    three.register(4)
    three.create(NewTopic("u", assignments=((0, (4, 2, 3)),)), NewTopic("v", assignments=((0, (2, 4)),)))
    three.fence(3)
    assert three.propose("u", (4, 2, 3)) is ErrorCode.INELIGIBLE_REPLICA
    old = three.image.node(3).epoch
    three.register(3, clean=True)
    assert three.propose("u", (4, 2, 3), member_epoch=old) is ErrorCode.INELIGIBLE_REPLICA
    assert not three.beat(2, want_shut_down=True).should_shut_down
    assert three.propose("u", (4, 2)) is ErrorCode.INELIGIBLE_REPLICA
    assert three.propose("u", (4, 3)) is ErrorCode.NONE


def test_a_refusal_that_time_would_heal_ends_the_state_that_it_was_for(three) -> None:
    """Its leader commits without the third, and a copy of the request comes when that one is back."""
    three.fence(3)
    before = three.partition()
    late = Proposal(before.topic_id, 0, 0, 1, tuple((node, three.image.node(node).epoch) for node in (1, 2, 3)))
    refused = judge(three, late)
    assert refused.records == (before.changed(),)
    assert three.do(refused).verdicts[0].error is ErrorCode.INELIGIBLE_REPLICA
    three.beat(3)
    assert three.do(judge(three, late)).verdicts[0].error is ErrorCode.INVALID_UPDATE_VERSION
    assert three.partition().isr == (1, 2)


def test_partitions_that_do_not_exist_are_told_apart_from_topics_that_do_not(three) -> None:
    topic_id = three.partition().topic_id
    other = topic_id.__class__(int=99)
    for key, error in (((topic_id, 7), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ((other, 0), ErrorCode.UNKNOWN_TOPIC_ID)):
        assert judge(three, Proposal(*key, 0, 0, ((1, -1),))).reply.verdicts[0].error is error


def test_an_old_life_of_a_broker_proposes_nothing(three) -> None:
    old = three.image.node(1).epoch
    three.register(1, clean=True)
    proposal = Proposal(three.partition().topic_id, 0, 0, 0, ((1, -1),))
    judged = alter_partitions(three.machine, Proposals(1, old, (proposal,)))
    assert (judged.records, judged.reply.error, judged.reply.verdicts) == ((), ErrorCode.STALE_BROKER_EPOCH, ())


def test_a_partition_named_twice_changes_once(three) -> None:
    twice = (Proposal(three.partition().topic_id, 0, 0, 0, ((1, -1), (2, -1))),) * 2
    judged = alter_partitions(three.machine, Proposals(1, three.image.node(1).epoch, twice))
    assert len(judged.records) == 1
    assert [each.error for each in judged.reply.verdicts] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_a_leader_elected_uncleanly_recovers_before_anybody_joins_it(three) -> None:
    three.create(
        NewTopic("u", assignments=((0, (1, 2)),), configs=(("unclean.leader.election.enable", "true"),)),
    )
    assert three.propose("u", (1,)) is ErrorCode.NONE
    three.fence(1)
    three.beat(1)
    assert three.propose("u", (2, 1), recovery=1) is ErrorCode.INVALID_REQUEST
    assert three.propose("u", (2,), recovery=1) is ErrorCode.NONE
    assert three.partition("u").leader_recovery_state is LeaderRecoveryState.RECOVERING
    assert three.propose("u", (2,)) is ErrorCode.NONE
    assert three.partition("u").leader_recovery_state is LeaderRecoveryState.RECOVERED
    assert three.propose("u", (2, 1)) is ErrorCode.NONE


# ---- leaders that resign ----


def test_a_leader_whose_log_refuses_is_relieved_and_leaves_the_isr(three) -> None:
    before = three.partition()
    assert three.propose("t", (1, 2, 3), resigns=True) is ErrorCode.NEW_LEADER_ELECTED
    after = three.partition()
    assert (after.leader, after.isr, after.eligible_leader_replicas) == (2, (2, 3), ())
    assert (after.leader_epoch, after.partition_epoch) == (before.leader_epoch + 1, before.partition_epoch + 1)


def test_below_the_least_isr_the_relieved_leader_may_still_be_elected(three) -> None:
    assert three.propose("t", (1, 2)) is ErrorCode.NONE
    assert three.propose("t", (1, 2), resigns=True) is ErrorCode.NEW_LEADER_ELECTED
    after = three.partition()
    assert (after.leader, after.isr, after.eligible_leader_replicas) == (2, (2,), (1,))


def test_who_stops_does_not_take_over_and_hinders_nobody_who_does(three) -> None:
    three.register(4)
    three.create(NewTopic("v", assignments=((0, (2, 4)),)))  # so that 2 has to wait for 4, and stays in ISRs
    three.fence(4)
    assert not three.beat(2, want_shut_down=True).should_shut_down
    before = three.partition()
    assert three.propose("t", before.isr, resigns=True) is ErrorCode.NEW_LEADER_ELECTED
    assert three.partition().leader == 3


def test_nothing_changes_where_nobody_else_is_in_sync(three) -> None:
    three.create(NewTopic("u", assignments=((0, (1,)),)))
    assert three.propose("t", (1,)) is ErrorCode.NONE
    for topic in "t", "u":
        before = three.partition(topic)
        assert three.propose(topic, (1,), resigns=True) is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        assert three.partition(topic) == before


@pytest.mark.parametrize(
    ("stale", "error"),
    [
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader": 2}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_only_the_present_leader_resigns_and_only_from_the_present_state(three, stale, error) -> None:
    assert three.propose("t", (1, 2)) is ErrorCode.NONE
    before = three.partition()
    assert three.propose("t", (1, 2), resigns=True, **stale) is error
    assert three.partition() == before


def test_who_resigned_leads_again_as_preferred_only_when_it_is_in_sync(three) -> None:
    assert three.propose("t", (1, 2, 3), resigns=True) is ErrorCode.NEW_LEADER_ELECTED
    ballots = (Ballot("t", (0,)),)
    (((_, ((_, refused),)),)) = three.do(elect_leaders(three.machine, ElectionType.PREFERRED, ballots))
    assert refused.error is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert three.propose("t", (2, 3, 1)) is ErrorCode.NONE
    three.do(elect_leaders(three.machine, ElectionType.PREFERRED, ballots))
    assert three.partition().leader == 1
