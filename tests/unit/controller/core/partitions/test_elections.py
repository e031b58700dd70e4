"""ElectLeaders as a decision."""

import pytest

from millstream_cluster.ids import NO_NODE, NodeId
from millstream_cluster.records import LeaderRecoveryState
from millstream_controller.core.nodes.nodes import Heartbeat, heartbeat
from millstream_controller.core.partitions.elections import Ballot, ElectionType, elect_leaders
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode


@pytest.fixture
def cluster(new_cluster):
    cluster = new_cluster()
    cluster.register(1)
    cluster.create(NewTopic("t", 2, 1), NewTopic("__consumer_offsets"))
    return cluster


def elect(cluster, kind, *ballots):
    elected = cluster.do(elect_leaders(cluster.machine, kind, ballots or None))
    return {(topic, index): outcome.error for topic, outcomes in elected for index, outcome in outcomes}


@pytest.mark.parametrize("kind", ElectionType)
def test_a_leader_that_is_as_asked_stays_and_is_told_only_when_named(cluster, kind) -> None:
    before = list(cluster.history)
    assert elect(cluster, kind) == {}
    assert elect(cluster, kind, Ballot("t", (0, 7)), Ballot("no", (0,))) == {
        ("t", 0): ErrorCode.ELECTION_NOT_NEEDED,
        ("t", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("no", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert cluster.history == before


def test_nobody_is_elected_who_is_not_there(cluster) -> None:
    cluster.beat(1, want_fence=True)
    asked = Ballot("t", (0,))
    assert elect(cluster, ElectionType.PREFERRED, asked) == {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert elect(cluster, ElectionType.UNCLEAN, asked) == {("t", 0): ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_an_unclean_election_gives_up_what_a_lost_disk_had_a_groups_shard_too(cluster) -> None:
    cluster.register(1, disk=1)
    assert cluster.image.partition("t", 0).leader == NO_NODE
    assert elect(cluster, ElectionType.PREFERRED, Ballot("t", (0,))) == {
        ("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    }
    told = elect(cluster, ElectionType.UNCLEAN)
    assert told[("t", 0)] == told[("t", 1)] == ErrorCode.NONE
    assert told[("__consumer_offsets", 0)] == ErrorCode.NONE
    elected = cluster.image.partition("t", 0)
    assert (elected.leader, elected.isr, elected.leader_epoch) == (1, (NodeId(1),), 2)
    assert cluster.image.partition("__consumer_offsets", 0).leader == 1


@pytest.fixture
def shared(new_cluster):
    """Partition 0 of three replicas, led by the second."""
    cluster = new_cluster()
    for node in (1, 2, 3):
        cluster.register(node)
    cluster.create(NewTopic("t", assignments=((0, (1, 2, 3)),)))
    cluster.fence(1)
    cluster.beat(1)
    return cluster


def test_the_preferred_replica_leads_again_once_it_is_in_sync(shared) -> None:
    asked = Ballot("t", (0,))
    assert elect(shared, ElectionType.PREFERRED, asked) == {("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert shared.propose("t", (2, 3, 1)) is ErrorCode.NONE
    before = shared.partition()
    decision = elect_leaders(shared.machine, ElectionType.PREFERRED, [asked])
    assert decision.records == (before.changed(leader=1, leader_epoch=2),)
    shared.do(decision)
    assert elect(shared, ElectionType.PREFERRED, asked) == {("t", 0): ErrorCode.ELECTION_NOT_NEEDED}


def test_an_unclean_election_takes_who_is_there_and_the_last_leader_is_elected_without_being_asked_for(shared) -> None:
    assert shared.propose("t", (2,)) is ErrorCode.NONE
    shared.register(2, beat=False)
    before = shared.partition()
    assert (before.isr, before.eligible_leader_replicas, before.last_known_elr) == ((), (), (2,))
    decision = elect_leaders(shared.machine, ElectionType.UNCLEAN, [Ballot("t", (0,))])
    assert decision.records == (
        before.changed(
            isr=(1,),
            leader=1,
            leader_epoch=before.leader_epoch + 1,
            last_known_elr=(),
            leader_recovery_state=LeaderRecoveryState.RECOVERING,
        ),
    )
    unfenced = heartbeat(shared.machine, Heartbeat(2, shared.image.node(2).epoch, shared.image.offset, False, False))
    assert unfenced.records[-1].leader == 2


def test_an_unclean_election_gives_up_whoever_is_eligible_and_away(shared) -> None:
    for node in (3, 2):
        shared.fence(node)
    assert shared.partition().eligible_leader_replicas == (2,)
    assert elect(shared, ElectionType.UNCLEAN, Ballot("t", (0,))) == {("t", 0): ErrorCode.NONE}
    after = shared.partition()
    assert (after.leader, after.isr, after.eligible_leader_replicas, after.last_known_elr) == (1, (1,), (), ())
    assert after.leader_recovery_state is LeaderRecoveryState.RECOVERING


def test_a_partition_named_twice_is_elected_once(cluster) -> None:
    cluster.register(1, disk=1)
    twice = elect_leaders(cluster.machine, ElectionType.UNCLEAN, [Ballot("t", (0, 0))])
    assert len(twice.records) == 1
    ((_, outcomes),) = cluster.do(twice)
    assert [outcome.error for _, outcome in outcomes] == [ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED]
