"""AlterPartitionReassignments: moves begin, are replaced, cancelled and completed, whatever happens to brokers meanwhile."""

import pytest

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.nodes.nodes import unregister
from millstream_controller.core.partitions import reassignments
from millstream_controller.core.partitions.reassignments import Move, alter_reassignments
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode


@pytest.fixture
def five(three):
    """`three`, and two brokers that have nothing yet."""
    for node in (4, 5):
        three.register(node)
    return three


def move(cluster, replicas, partition=0, topic="t", may_change_factor=False):
    """The error of one move."""
    wanted = Move(topic, partition, None if replicas is None else tuple(replicas))
    (outcome,) = cluster.do(alter_reassignments(cluster.machine, [wanted], may_change_factor=may_change_factor))
    return outcome.error


def refusal(cluster, replicas, **options):
    (outcome,) = cluster.do(
        alter_reassignments(cluster.machine, [Move("t", 0, replicas)], may_change_factor=options.get("factor", False))
    )
    return outcome.error, outcome.message


def moving(cluster):
    p = cluster.partition()
    return p.replicas, p.adding_replicas, p.removing_replicas


def led(cluster):
    p = cluster.partition()
    return p.leader, p.isr, p.leader_epoch


def test_a_move_adds_the_new_and_removes_the_old_only_when_the_new_are_in_sync(five) -> None:
    assert move(five, (4, 2, 3)) == ErrorCode.NONE
    assert moving(five) == ((4, 2, 3, 1), (4,), (1,))
    assert led(five) == (1, (1, 2, 3), 0), "a new copy counts for nothing, and nobody leads anew"
    assert five.propose("t", (1, 2, 3, 4)) == ErrorCode.NEW_LEADER_ELECTED
    assert moving(five) == ((4, 2, 3), (), ())
    assert led(five) == (4, (2, 3, 4), 1)


def test_a_leader_that_stays_leads_on_in_a_new_epoch_when_others_have_gone(five) -> None:
    assert move(five, (1, 4, 5)) == ErrorCode.NONE
    assert five.propose("t", (1, 2, 3, 4)) == ErrorCode.NONE
    assert moving(five) == ((1, 4, 5, 2, 3), (4, 5), (2, 3))
    assert five.propose("t", (1, 2, 3, 4, 5)) == ErrorCode.NONE
    assert moving(five) == ((1, 4, 5), (), ())
    assert led(five) == (1, (1, 4, 5), 1)


def test_the_whole_target_has_to_be_in_sync_not_only_what_is_new(five) -> None:
    five.propose("t", (1, 2))
    assert move(five, (4, 2, 3)) == ErrorCode.NONE
    assert five.propose("t", (1, 2, 4)) == ErrorCode.NONE
    assert moving(five) == ((4, 2, 3, 1), (4,), (1,))
    assert five.propose("t", (1, 2, 3, 4)) == ErrorCode.NEW_LEADER_ELECTED
    assert moving(five) == ((4, 2, 3), (), ())


def test_another_order_of_the_same_replicas_is_done_at_once_and_moves_nothing(five) -> None:
    assert move(five, (3, 1, 2)) == ErrorCode.NONE
    assert moving(five) == ((3, 1, 2), (), ())
    assert led(five) == (1, (1, 2, 3), 0)
    before = list(five.history)
    assert move(five, (3, 1, 2)) == ErrorCode.NONE
    assert five.history == before, "where it is already"


def test_the_number_of_replicas_changes_only_where_that_is_allowed(five) -> None:
    wrong = (ErrorCode.INVALID_REPLICATION_FACTOR, "The replication factor is changed from 3 to 2")
    assert refusal(five, (1, 2)) == wrong
    assert move(five, (2, 3), may_change_factor=True) == ErrorCode.NONE
    assert moving(five) == ((2, 3), (), ()), "they are in sync already"
    assert led(five) == (2, (2, 3), 1)
    assert move(five, (2, 3, 4), may_change_factor=True) == ErrorCode.NONE
    assert moving(five) == ((2, 3, 4), (4,), ())
    assert refusal(five, (2, 4)) == (wrong[0], "The replication factor is changed from 3 to 2")
    assert move(five, (2, 3, 5)) == ErrorCode.NONE, "the number that it is on its way to"


def test_another_target_replaces_the_first_and_a_cancel_still_finds_the_way_back(five) -> None:
    move(five, (4, 2, 3))
    assert move(five, (5, 2, 3)) == ErrorCode.NONE
    assert moving(five) == ((5, 2, 3, 1, 4), (4, 5), (1, 4))
    assert move(five, None) == ErrorCode.NONE
    assert moving(five) == ((2, 3, 1), (), ())
    assert led(five) == (1, (1, 2, 3), 1)


def test_a_replaced_target_completes_without_what_the_first_one_added(five) -> None:
    move(five, (4, 2, 3))
    five.propose("t", (1, 2, 3))
    move(five, (5, 2, 3))
    assert five.propose("t", (1, 2, 3, 5)) == ErrorCode.NEW_LEADER_ELECTED
    assert moving(five) == ((5, 2, 3), (), ())


def test_naming_the_old_replicas_again_ends_the_move_at_once_while_they_are_in_sync(five) -> None:
    move(five, (4, 2, 3))
    assert move(five, (1, 2, 3)) == ErrorCode.NONE
    assert moving(five) == ((1, 2, 3), (), ())


def test_a_cancel_goes_back_in_every_phase(five) -> None:
    assert move(five, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    move(five, (4, 5, 3))
    assert move(five, None) == ErrorCode.NONE
    assert moving(five) == ((3, 1, 2), (), ())
    move(five, (4, 5, 3))
    five.propose("t", (1, 2, 3, 4))
    assert move(five, None) == ErrorCode.NONE
    assert moving(five) == ((3, 1, 2), (), ())
    assert set(led(five)[1]) == {1, 2, 3}
    assert move(five, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    move(five, (4, 5, 3))
    five.propose("t", (1, 2, 3, 4, 5))
    assert move(five, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "it is complete"


def test_a_cancel_takes_the_leadership_from_a_newcomer(five) -> None:
    move(five, (4, 5, 3))
    five.propose("t", (1, 2, 3, 4))
    five.fence(1)
    five.fence(2)
    five.fence(3)
    assert led(five)[:2] == (4, (4,))
    five.register(3, clean=True)
    five.propose("t", (4, 3))
    five.register(2, clean=True)
    five.propose("t", (4, 3, 2))
    assert move(five, None) == ErrorCode.NONE
    assert led(five)[0] == 3
    assert set(led(five)[1]) == {2, 3}


def test_a_cancel_never_takes_what_the_isr_needs(five) -> None:
    """Two have what was acknowledged, one of them on its way in: after a cut to the other a single loss would lose it."""
    move(five, (4, 2, 3))
    five.propose("t", (1, 4))
    assert move(five, None) == ErrorCode.NONE
    assert moving(five) == ((2, 3, 1, 4), (4,), (4,))
    assert set(led(five)[1]) == {1, 4}
    assert move(five, None) == ErrorCode.NONE, "it is on its way back already"
    assert five.propose("t", (1, 4, 2)) == ErrorCode.NONE
    assert five.propose("t", (1, 4, 2, 3)) == ErrorCode.NONE
    assert moving(five) == ((2, 3, 1), (), ())


def test_nor_what_the_elr_needs(five) -> None:
    move(five, (4, 2, 3))
    five.propose("t", (1, 4))
    five.fence(4)
    assert five.partition().eligible_leader_replicas == (4,)
    assert move(five, None) == ErrorCode.NONE
    assert moving(five) == ((2, 3, 1, 4), (4,), (4,))
    assert (led(five)[1], five.partition().eligible_leader_replicas) == ((1,), (4,))


def test_a_cancel_that_would_lose_records_is_refused_unless_the_topic_accepts_that(five) -> None:
    move(five, (4, 5, 3))
    five.propose("t", (1, 2, 3, 4))
    for node in (1, 2, 3):
        five.fence(node)
    assert refusal(five, None) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "Unable to revert partition assignment for t:0 because it would require an unclean leader election.",
    )
    five.register(2)
    five.machine.apply(r.ConfigChanged(r.ResourceType.TOPIC, "t", "unclean.leader.election.enable", "true"))
    assert move(five, None) == ErrorCode.NONE
    assert moving(five) == ((3, 1, 2), (), ())
    assert led(five)[:2] == (2, (2,))
    assert five.partition().leader_recovery_state is r.LeaderRecoveryState.RECOVERING


def test_a_single_replica_moves_with_its_data(five) -> None:
    five.create(NewTopic("s", assignments=((0, (1,)),)))
    assert move(five, (4,), topic="s") == ErrorCode.NONE
    partition = five.partition("s")
    assert (partition.replicas, partition.isr, partition.leader) == ((4, 1), (1,), 1)
    assert five.propose("s", (1, 4)) == ErrorCode.NEW_LEADER_ELECTED
    partition = five.partition("s")
    assert (partition.replicas, partition.isr, partition.leader) == ((4,), (4,), 4)


def test_brokers_come_and_go_while_a_partition_moves(five) -> None:
    move(five, (4, 2, 3))
    five.fence(4)
    five.fence(1)
    assert led(five)[:2] == (2, (2, 3))
    assert moving(five) == ((4, 2, 3, 1), (4,), (1,))
    five.register(1, clean=True)
    five.register(4)
    assert moving(five) == ((4, 2, 3, 1), (4,), (1,))
    assert five.propose("t", (2, 3, 4)) == ErrorCode.NONE
    assert moving(five) == ((4, 2, 3), (), ())
    assert led(five)[:2] == (2, (2, 3, 4))


def test_a_broker_that_is_removed_while_it_gets_a_copy_can_come_back(five) -> None:
    move(five, (4, 2, 3))
    five.fence(4)
    assert five.do(unregister(five.machine, 4)).error == ErrorCode.NONE
    assert moving(five) == ((4, 2, 3, 1), (4,), (1,))
    assert refusal(five, (4, 2, 3))[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    five.register(4, disk=1)
    assert five.propose("t", (1, 2, 3, 4)) == ErrorCode.NEW_LEADER_ELECTED
    assert moving(five) == ((4, 2, 3), (), ())


def test_a_partition_without_a_leader_waits_with_its_move(five) -> None:
    for node in (1, 2, 3):
        five.fence(node)
    assert move(five, (4, 2, 3)) == ErrorCode.NONE
    assert led(five)[0] == NO_NODE
    assert five.partition().eligible_leader_replicas == (2, 3)
    five.register(3, clean=True)
    assert led(five)[:2] == (3, (3,))


@pytest.mark.parametrize(
    ("topic", "partition", "replicas", "error", "message"),
    [
        ("no", 0, (1, 2, 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find a topic named no."),
        ("t", 9, (1, 2, 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition t:9."),
        ("t", 9, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Unable to find partition t:9."),
        (
            "t",
            0,
            (),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            "t",
            0,
            (1, 1, 2),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            "t",
            0,
            (1, 2, 9),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_kafkas_sentences(five, topic, partition, replicas, error, message) -> None:
    before = list(five.history)
    wanted = [Move(topic, partition, replicas), Move("t", 0, (4, 2, 3))]
    wrong, right = five.do(alter_reassignments(five.machine, wanted, may_change_factor=True))
    assert (wrong.error, wrong.message) == (error, message)
    assert right.error == ErrorCode.NONE
    assert len(five.history) == len(before) + 1


def test_of_a_partition_that_is_named_twice_the_second_sees_the_first(five) -> None:
    wanted = [Move("t", 0, (4, 2, 3)), Move("t", 0, None), Move("t", 0, None)]
    outcomes = five.do(alter_reassignments(five.machine, wanted, may_change_factor=True))
    assert [each.error for each in outcomes] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    ]
    assert moving(five) == ((2, 3, 1), (), ())


def test_one_request_moves_no_more_than_one_append_holds(five, monkeypatch) -> None:
    monkeypatch.setattr(reassignments, "RECORDS_MAX", 1)
    wanted = [Move("t", 0, (4, 2, 3)), Move("t", 0, (5, 2, 3))]
    outcomes = five.do(alter_reassignments(five.machine, wanted, may_change_factor=True))
    assert [each.error for each in outcomes] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]


def test_at_the_level_of_the_first_release_nothing_moves(five) -> None:
    five.image.metadata_version = MetadataVersion.RELEASE_0_1
    error, message = refusal(five, (4, 2, 3))
    assert error == ErrorCode.UNSUPPORTED_VERSION
    assert "kafka-features" in str(message)
    assert move(five, (3, 2, 1)) == ErrorCode.NONE, "another order needs no field of a later level"
