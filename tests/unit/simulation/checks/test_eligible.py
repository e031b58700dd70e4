"""How many replicas may be elected after each record of a partition, and why they may be fewer."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster import records as r
from millstream_cluster.ids import BrokerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.image import Image
from millstream_simulation.checks.replicas.eligible import EligibleReplicas
from millstream_simulation.story import Violation

TOPIC = UUID(int=7)
ALL = (NodeId(1), NodeId(2), NodeId(3))
CREATED = r.PartitionCreated(TOPIC, 0, ALL, (NodeId(1), NodeId(2)), NodeId(1), LeaderEpoch(0), PartitionEpoch(0))


def registered(node_id: int, epoch: int) -> r.NodeRegistered:
    listeners = (r.Endpoint(name="PLAINTEXT", host="h", port=9092),)
    return r.NodeRegistered(NodeId(node_id), BrokerEpoch(epoch), UUID(int=node_id), listeners, None)


def changed(isr: Sequence[int], elr: Sequence[int] = ()) -> r.PartitionChanged:
    return r.PartitionChanged(
        TOPIC,
        0,
        ALL,
        tuple(map(NodeId, isr)),
        NodeId(isr[0]) if isr else NodeId(-1),
        LeaderEpoch(1),
        PartitionEpoch(1),
        eligible_leader_replicas=tuple(map(NodeId, elr)),
    )


def judge(*records: r.MetadataRecord, lost: bool = False) -> None:
    check = EligibleReplicas(2, lambda node_id, record: lost)
    image = Image()
    before = [
        *(record for each in ALL for record in (registered(each, each), r.NodeUnfenced(each, BrokerEpoch(each)))),
        r.TopicCreated("t", TOPIC, internal=False),
        CREATED,
    ]
    for offset, record in enumerate([*before, *records]):
        check.on_committed(image, record)
        image.apply(record, offset)


def test_who_leaves_an_isr_at_its_least_stays_eligible() -> None:
    judge(changed([1], [2]), r.NodeFenced(NodeId(2), BrokerEpoch(2)))


def test_one_that_is_just_gone_is_found_out() -> None:
    with pytest.raises(Violation, match=r"t-0 was on \[1, 2\], of which \[1\] may be elected now, and broker 2"):
        judge(changed([1]), r.NodeFenced(NodeId(2), BrokerEpoch(2)))


def test_who_is_registered_without_a_proof_may_go() -> None:
    judge(changed([1]), registered(2, 20))


def test_who_has_lost_its_copy_may_go() -> None:
    judge(changed([1]), r.NodeFenced(NodeId(2), BrokerEpoch(2)), lost=True)


def test_nobody_else_is_needed_where_fewer_have_to_be_in_sync() -> None:
    relied_on = r.ConfigChanged(r.ResourceType.TOPIC, "t", "min.insync.replicas", "1")
    judge(changed([1]), relied_on, r.NodeFenced(NodeId(2), BrokerEpoch(2)))


def test_an_unclean_election_begins_with_whoever_leads() -> None:
    unclean = replace(changed([3]), leader_recovery_state=r.LeaderRecoveryState.RECOVERING)
    judge(unclean, r.NodeFenced(NodeId(1), BrokerEpoch(1)))
