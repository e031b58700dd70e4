from collections.abc import Iterable
from uuid import UUID

import pytest

from millstream_broker.core.hosting import (
    Create,
    Delete,
    Lose,
    MetadataDelta,
    SetAside,
    Update,
    plan_changes,
    plan_shut_out,
    plan_start,
    plan_unproven,
    without_leading,
)
from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, BrokerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image

OURS, THEIRS, OLD = UUID(int=10), UUID(int=11), UUID(int=9)


def created(topic_id: UUID, partition: int, node: int) -> r.PartitionCreated:
    nodes = (NodeId(node),)
    return r.PartitionCreated(topic_id, partition, nodes, nodes, NodeId(-1), LeaderEpoch(0), PartitionEpoch(0))


RECORDS: list[r.MetadataRecord] = [
    r.TopicCreated("orders", OURS, False),
    created(OURS, 0, 1),
    created(OURS, 1, 2),
    r.TopicCreated("others", THEIRS, False),
    created(THEIRS, 0, 2),
]


def image(records: list[r.MetadataRecord]) -> Image:
    result = Image()
    for offset, record in enumerate(records):
        result.apply(record, offset)
    return result


def test_only_partitions_assigned_to_this_broker_get_a_log() -> None:
    now = image(RECORDS)
    delta = MetadataDelta()
    delta.add(RECORDS)
    partition = now.partition("orders", 0)
    assert partition is not None
    assert plan_changes(delta, now, node_id=1, hosted=()) == [Create(partition)]
    assert plan_changes(delta, now, node_id=1, hosted={(OURS, 0)}) == [Update(partition)]


def test_a_deleted_topics_log_is_deleted_by_id() -> None:
    records = [*RECORDS, r.TopicDeleted(OURS)]
    delta = MetadataDelta()
    delta.add(records)
    assert plan_changes(delta, image(records), node_id=1, hosted={(OURS, 0), (OLD, 0)}) == [Delete((OURS, 0))]


def test_at_the_start_unexplained_logs_are_set_aside_and_deletions_carried_out() -> None:
    now = image(RECORDS)
    gone = UUID(int=8)
    partition = now.partition("orders", 0)
    assert partition is not None
    steps = plan_start({gone}, now, node_id=1, hosted={(OLD, 0): 1, (gone, 3): 1, (OURS, 0): 1, (THEIRS, 0): 1})
    assert steps == [SetAside((OLD, 0)), Delete((gone, 3)), Update(partition), SetAside((THEIRS, 0))]


def test_a_topic_created_again_under_its_name_is_another_one() -> None:
    new = UUID(int=12)
    records = [*RECORDS, r.TopicDeleted(OURS), r.TopicCreated("orders", new, False), created(new, 0, 1)]
    delta = MetadataDelta()
    delta.add(records[len(RECORDS) :])
    now = image(records)
    partition = now.partition(new, 0)
    assert partition is not None
    assert plan_changes(delta, now, node_id=1, hosted={(OURS, 0)}) == [Delete((OURS, 0)), Create(partition)]


def state_of(
    *,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    leader: int,
    elr: tuple[int, ...] = (),
    last: tuple[int, ...] = (),
) -> Image:
    nodes = [tuple(NodeId(node) for node in each) for each in (replicas, isr)]
    created = r.PartitionCreated(
        OURS,
        0,
        *nodes,
        NodeId(leader),
        LeaderEpoch(0),
        PartitionEpoch(0),
        eligible_leader_replicas=tuple(map(NodeId, elr)),
        last_known_elr=tuple(map(NodeId, last)),
    )
    return image([r.TopicCreated("orders", OURS, False), created])


def test_a_broker_leads_nothing_that_others_may_lead_before_its_image_is_proven() -> None:
    alone, shared = (state_of(replicas=replicas, isr=replicas, leader=1) for replicas in ((1,), (1, 2)))
    assert plan_unproven(alone, node_id=1, hosted=[(OURS, 0)]) == [Update(alone.partition(OURS, 0))]
    assert plan_unproven(shared, node_id=1, hosted=[(OURS, 0)]) == []


def test_an_unproven_image_makes_renames_and_deletes_nothing() -> None:
    now = image([*RECORDS, r.TopicDeleted(THEIRS)])
    assert plan_unproven(now, node_id=1, hosted=[(OLD, 0), (THEIRS, 0), (OURS, 1)]) == []


@pytest.mark.parametrize(
    ("isr", "leader", "controller_knows", "anew"),
    [
        ((1, 2), 1, False, False),
        ((1, 2), 2, False, False),  # what it has not must not count as in sync
        ((2,), 2, True, True),  # it follows, from nothing
        ((2,), -1, True, False),
        ((), -1, True, False),  # the only copy: a person decides
        ((1,), 1, True, True),  # and has, by an unclean election
    ],
)
def test_an_empty_log_stands_in_for_a_lost_one_only_where_nobody_takes_it_for_that(
    isr: tuple[int, ...], leader: int, controller_knows: bool, anew: bool
) -> None:
    now = state_of(replicas=(1, 2), isr=isr, leader=leader)
    partition = now.partition(OURS, 0)
    assert partition is not None
    wanted = [Create(partition)] if anew else [Lose(partition)]
    lost = {(OURS, 0): controller_knows}
    assert plan_start((), now, node_id=1, hosted=(), lost=lost) == wanted
    delta = MetadataDelta()
    delta.partitions[OURS, 0] = None
    assert plan_changes(delta, now, node_id=1, hosted=(), lost=lost) == wanted
    assert plan_start((), now, node_id=1, hosted=()) == [Create(partition)], "it never was here"


@pytest.mark.parametrize(("elr", "last"), [((1,), ()), ((), (1,))])
def test_what_is_lost_and_may_be_elected_is_told_before_it_begins_anew(
    elr: tuple[int, ...], last: tuple[int, ...]
) -> None:
    """Seed 40: a broker that was the last leader, and was out of the ISR, was elected with the log that it had lost."""
    for leader in (2, -1):
        isr = (2,) if leader == 2 else ()
        now = state_of(replicas=(1, 2), isr=isr, leader=leader, elr=elr, last=last)
        partition = now.partition(OURS, 0)
        assert partition is not None
        assert plan_start((), now, node_id=1, hosted=(), lost={(OURS, 0): False}) == [Lose(partition)]


# ---- a broker that was not let in yet ----


def led(topic_id: UUID, partition: int, *replicas: int) -> r.PartitionCreated:
    """Led by the first of its replicas."""
    nodes = tuple(map(NodeId, replicas))
    return r.PartitionCreated(topic_id, partition, nodes, nodes, nodes[0], LeaderEpoch(4), PartitionEpoch(0))


REGISTERED = [
    r.NodeRegistered(NodeId(1), BrokerEpoch(1), UUID(int=1), (), None),
    r.TopicCreated("orders", OURS, False),
    led(OURS, 0, 1),
    led(OURS, 1, 1, 2),
    led(OURS, 2, 2, 1),
]
LET_IN = r.NodeUnfenced(NodeId(1), BrokerEpoch(1))


def leaders(steps: Iterable[object]) -> dict[int, int]:
    assert all(isinstance(step, Update) for step in steps)
    return {step.partition.partition: step.partition.leader for step in steps if isinstance(step, Update)}


def test_a_broker_that_starts_leads_none_of_several_replicas_before_it_is_let_in() -> None:
    hosted = [(OURS, 0), (OURS, 1), (OURS, 2)]
    steps = plan_start((), image(REGISTERED), node_id=1, hosted=hosted)
    assert leaders(steps) == {0: 1, 1: NO_NODE, 2: 2}
    steps = plan_start((), image([*REGISTERED, LET_IN]), node_id=1, hosted=hosted)
    assert leaders(steps) == {0: 1, 1: 1, 2: 2}


def test_once_it_is_let_in_it_leads_what_it_was_kept_from() -> None:
    hosted = [(OURS, 0), (OURS, 1), (OURS, 2)]
    delta = MetadataDelta()
    delta.add([LET_IN])
    steps = plan_changes(delta, image([*REGISTERED, LET_IN]), node_id=1, hosted=hosted)
    assert leaders(steps) == {1: 1}
    other = MetadataDelta()
    other.add([r.NodeUnfenced(NodeId(2), BrokerEpoch(2))])
    assert plan_changes(other, image(REGISTERED), node_id=1, hosted=hosted) == []
    changed = MetadataDelta()
    changed.add([led(OURS, 1, 1, 2)])
    assert leaders(plan_changes(changed, image(REGISTERED), node_id=1, hosted=hosted)) == {1: NO_NODE}


def test_a_broker_that_was_told_that_it_is_fenced_leads_none_of_several_replicas() -> None:
    """It is told by a heartbeat's answer; the metadata that says who leads instead comes later."""
    now = image([*REGISTERED, LET_IN])
    steps = plan_shut_out(now, node_id=1, hosted=[(OURS, 0), (OURS, 1), (OURS, 2)])
    assert leaders(steps) == {0: 1, 1: NO_NODE}
    begun = plan_start((), now, node_id=1, hosted=[(OURS, 0), (OURS, 1), (OURS, 2)])
    assert leaders(without_leading(begun, 1)) == {0: 1, 1: NO_NODE, 2: 2}
