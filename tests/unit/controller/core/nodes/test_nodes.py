from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.features import SUPPORTED_RANGES
from millstream_cluster.ids import NO_NODE
from millstream_cluster.image import Image
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes import nodes
from millstream_controller.core.nodes.nodes import Heartbeat, Registration, fence, heartbeat, register, unregister
from millstream_controller.core.takeover import prove_active
from millstream_controller.core.topics.deleted_topics import TopicRef, delete_topics
from millstream_controller.core.topics.new_topics import NewTopic
from millstream_wire.errors import ErrorCode


def wanted(node_id=1, cluster="test-cluster", disk=100, port=9092, listeners=None) -> Registration:
    endpoints = (r.Endpoint("P", "h", port),) if listeners is None else listeners
    return Registration(node_id, cluster, UUID(int=disk), endpoints, None, features=SUPPORTED_RANGES)


def error_of(cluster, registration, *, live=True) -> ErrorCode:
    return register(cluster.machine, registration, session_live=live).reply.outcome.error


def test_a_node_is_fenced_until_it_has_caught_up_with_its_own_registration(cluster) -> None:
    epoch = cluster.do(register(cluster.machine, wanted(), session_live=False)).broker_epoch
    assert cluster.image.brokers[1].fenced
    behind = cluster.do(heartbeat(cluster.machine, Heartbeat(1, epoch, epoch - 1, False, False)))
    assert (behind.caught_up, behind.fenced) == (False, True)
    ready = cluster.do(heartbeat(cluster.machine, Heartbeat(1, epoch, epoch, False, False)))
    assert (ready.caught_up, ready.fenced) == (True, False)
    assert not cluster.image.brokers[1].fenced


@pytest.mark.parametrize("node_id", [1, 10_001])
def test_a_node_is_let_back_in_only_when_it_has_applied_its_latest_fencing(cluster, node_id) -> None:
    """It was cut off, and may act on what it led or owned before others got it."""
    epoch = cluster.register(node_id)
    before = cluster.image.offset
    cluster.do(Decision(fence(cluster.machine, cluster.image.nodes[node_id], r.FenceReason.SILENT), None))
    behind = cluster.do(heartbeat(cluster.machine, Heartbeat(node_id, epoch, before, False, False)))
    assert (behind.caught_up, behind.fenced) == (False, True)
    ready = cluster.do(heartbeat(cluster.machine, Heartbeat(node_id, epoch, cluster.image.offset, False, False)))
    assert (ready.caught_up, ready.fenced) == (True, False)


def test_after_a_takeover_from_a_snapshot_no_node_is_let_in_sooner(cluster) -> None:
    epoch = cluster.register(1)
    cluster.do(Decision(fence(cluster.machine, cluster.image.nodes[1], r.FenceReason.SILENT), None))
    fenced_at = cluster.image.nodes[1].fenced_offset
    assert fenced_at == cluster.image.offset
    loaded = Image.of(cluster.image.records(), cluster.image.offset)
    successor = ControllerMachine(cluster.machine.settings, loaded)
    assert heartbeat(successor, Heartbeat(1, epoch, fenced_at - 1, False, False)).reply.fenced
    assert not heartbeat(successor, Heartbeat(1, epoch, fenced_at, False, False)).reply.fenced


def test_bad_registrations_are_refused_with_kafkas_codes(cluster) -> None:
    assert error_of(cluster, wanted(cluster="other")) is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert error_of(cluster, wanted(node_id=20_000)) is ErrorCode.INVALID_REQUEST
    assert error_of(cluster, wanted(node_id=-1)) is ErrorCode.INVALID_REQUEST
    assert error_of(cluster, wanted(listeners=())) is ErrorCode.INVALID_REQUEST


def test_an_id_in_use_is_refused_unless_it_must_be_the_same_seat(cluster) -> None:
    cluster.register(1)
    elsewhere = wanted(disk=7, port=9999)
    assert error_of(cluster, elsewhere) is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert error_of(cluster, elsewhere, live=False) is ErrorCode.NONE
    assert error_of(cluster, wanted(disk=7)) is ErrorCode.NONE
    assert error_of(cluster, wanted(disk=100, port=9999)) is ErrorCode.NONE


def test_heartbeats_of_unknown_nodes_and_old_lives_are_told_so(cluster) -> None:
    old = cluster.register(1)
    new = cluster.register(1)
    assert new > old
    beat = heartbeat(cluster.machine, Heartbeat(1, old, cluster.image.offset, False, False))
    assert beat.reply.outcome.error is ErrorCode.STALE_BROKER_EPOCH
    beat = heartbeat(cluster.machine, Heartbeat(5, old, 0, False, False))
    assert beat.reply.outcome.error is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_restart_with_its_disk_leads_again_in_a_new_leader_epoch(cluster) -> None:
    cluster.register(1)
    cluster.create(NewTopic("t", 2, 1))
    before = cluster.image.partition("t", 0)
    cluster.do(register(cluster.machine, wanted(), session_live=True))
    down = cluster.image.partition("t", 0)
    assert (down.leader, down.isr) == (NO_NODE, (1,))
    assert not cluster.beat(1).fenced
    after = cluster.image.partition("t", 0)
    assert (after.leader, after.isr) == (1, (1,))
    assert after.leader_epoch > down.leader_epoch > before.leader_epoch


def test_a_broker_with_an_empty_disk_never_leads_what_it_lost(cluster) -> None:
    cluster.register(1)
    cluster.create(NewTopic("t", 3, 1))
    registered = cluster.do(register(cluster.machine, wanted(disk=999), session_live=True))
    assert registered.lost_partitions == 3
    assert not cluster.beat(1).fenced
    for partition in cluster.image.topic("t").partitions:
        assert (partition.leader, partition.isr, partition.replicas) == (NO_NODE, (), (1,))
    assert cluster.create(NewTopic("new", 1, 1))["new"].outcome.error is ErrorCode.NONE
    assert cluster.image.partition("new", 0).leader == 1
    cluster.register(1, disk=999 - 100)
    assert cluster.image.partition("t", 0).leader == NO_NODE


def test_controlled_shutdown_takes_leadership_first(cluster) -> None:
    cluster.register(1)
    cluster.create(NewTopic("t", 1, 1))
    reply = cluster.beat(1, want_shut_down=True)
    assert (reply.fenced, reply.should_shut_down) == (True, True)
    assert cluster.image.partition("t", 0).leader == NO_NODE
    assert cluster.beat(1, want_shut_down=True).should_shut_down


def shared(cluster, name="t", **configs):
    for node in (1, 2, 3):
        cluster.register(node)
    cluster.create(NewTopic(name, assignments=((0, (1, 2, 3)),), configs=tuple(configs.items())))


def test_a_broker_that_stops_leaves_its_isrs_first_and_goes_once_nothing_is_left_to_leave(cluster) -> None:
    shared(cluster)
    cluster.create(NewTopic("alone", assignments=((0, (1,)),)))
    before, epoch = cluster.partition(), cluster.image.node(1).epoch
    first = heartbeat(cluster.machine, Heartbeat(1, epoch, cluster.image.offset, False, True))
    assert first.records == (before.changed(isr=(2, 3), leader=2, leader_epoch=1),)
    told = cluster.do(first)
    assert (told.fenced, told.should_shut_down) == (False, False)
    alone = cluster.partition("alone")
    second = heartbeat(cluster.machine, Heartbeat(1, epoch, cluster.image.offset, False, True))
    assert second.records == (
        alone.changed(leader=NO_NODE, leader_epoch=1),
        r.NodeFenced(1, epoch, reason=r.FenceReason.STOPPED),
    )
    told = cluster.do(second)
    assert (told.fenced, told.should_shut_down) == (True, True)


def test_the_last_two_of_an_isr_may_stop_at_the_same_time(cluster) -> None:
    shared(cluster)
    cluster.fence(3)
    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    assert (cluster.partition().leader, cluster.partition().isr) == (2, (2,))
    assert cluster.beat(2, want_shut_down=True).should_shut_down
    assert cluster.beat(1, want_shut_down=True).should_shut_down
    stopped = cluster.partition()
    assert (stopped.leader, stopped.isr, stopped.eligible_leader_replicas) == (NO_NODE, (), (2,))


def test_a_broker_that_comes_back_is_not_about_to_stop_any_more(cluster) -> None:
    shared(cluster)
    cluster.beat(3, want_shut_down=True)
    assert cluster.beat(3, want_shut_down=True).should_shut_down
    cluster.register(3, clean=True)
    assert cluster.propose("t", (1, 2, 3)) is ErrorCode.NONE


@pytest.mark.parametrize("node_id", [2, 1])
def test_a_proof_of_a_clean_stop_is_the_epoch_of_the_life_that_stopped(cluster, node_id) -> None:
    """In a topic that needs all three, who was in sync stays eligible if it proves that it lost nothing."""
    shared(cluster, **{"min.insync.replicas": "3"})
    last = cluster.image.node(node_id).epoch
    for proof, eligible in ((last - 1, ()), (-1, ()), (last, (node_id,))):
        registration = replace(wanted(node_id, disk=node_id * 100), previous_epoch=proof)
        decision = register(cluster.machine, registration, session_live=True)
        assert decision.records[0].eligible_leader_replicas == eligible
        assert decision.records[0].last_known_elr == (() if eligible else (node_id,))


def test_a_process_whose_registration_was_taken_but_not_answered_proves_the_same_again(cluster) -> None:
    shared(cluster, **{"min.insync.replicas": "3"})
    again = replace(wanted(3, disk=300), previous_epoch=cluster.image.node(3).epoch)
    cluster.do(register(cluster.machine, again, session_live=True))
    cluster.do(register(cluster.machine, again, session_live=True))
    assert cluster.partition().eligible_leader_replicas == (3,)
    cluster.beat(3)
    cluster.do(register(cluster.machine, again, session_live=True))
    assert cluster.partition().eligible_leader_replicas == ()


def test_a_broker_that_is_forgotten_leaves_isr_and_elr_but_may_not_be_the_last_of_both(cluster) -> None:
    shared(cluster, **{"min.insync.replicas": "2"})
    for node in (3, 2):
        cluster.fence(node)
    assert cluster.do(unregister(cluster.machine, 3)).error is ErrorCode.NONE
    before = cluster.partition()
    assert (before.isr, before.eligible_leader_replicas) == ((1,), (2,))
    cluster.fence(1)
    assert cluster.do(unregister(cluster.machine, 2)).error is ErrorCode.NONE
    assert cluster.partition().eligible_leader_replicas == (1,)
    assert unregister(cluster.machine, 1).reply.error is ErrorCode.POLICY_VIOLATION


def test_a_broker_in_very_many_isrs_is_forgotten_in_parts(cluster, monkeypatch) -> None:
    shared(cluster)
    monkeypatch.setattr(nodes, "RECORDS_MAX", 1)
    assert cluster.do(unregister(cluster.machine, 3)).error is ErrorCode.REQUEST_TIMED_OUT
    assert (cluster.partition().isr, cluster.image.node(3) is None) == ((1, 2), False)
    assert cluster.do(unregister(cluster.machine, 3)).error is ErrorCode.NONE
    assert cluster.image.node(3) is None


def test_a_broker_is_forgotten_only_when_nothing_depends_on_its_disk(cluster) -> None:
    """Else another disk under its id could lead what it never had: nobody would know the old one."""
    cluster.register(1)
    cluster.create(NewTopic("t", 1, 1))
    refused = unregister(cluster.machine, 1)
    assert (refused.records, refused.reply.error) == ((), ErrorCode.POLICY_VIOLATION)
    cluster.do(delete_topics(cluster.machine, [TopicRef("t", None)]))
    assert cluster.do(unregister(cluster.machine, 1)).error is ErrorCode.NONE
    assert unregister(cluster.machine, 1).reply.error is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_node_that_knows_more_than_the_log_is_in_doubt_until_a_write_succeeds(cluster) -> None:
    """A deposed controller's write fails; one that succeeds proves that the log went back."""
    epoch = cluster.register(1)
    beyond = cluster.image.offset + 1
    decision = heartbeat(cluster.machine, Heartbeat(1, epoch, beyond, False, False))
    assert decision.reply.log_went_back
    proof = prove_active(cluster.machine)
    assert proof.records
    cluster.do(proof)
