from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.ids import NodeId
from millstream_cluster.placement import Candidate, Carried, Move, place, replace


@st.composite
def carried(draw: st.DrawFn) -> tuple[list[Candidate], list[Carried], set[NodeId]]:
    """Brokers in racks or without, what they carry, and some of them that leave."""
    count = draw(st.integers(2, 8))
    racks = draw(st.sampled_from([(None,), ("a", "b", "c"), ("a", "b", None)]))
    nodes = [NodeId(node) for node in range(count)]
    of = {node: draw(st.sampled_from(racks)) for node in nodes}
    factor = draw(st.integers(1, min(3, count)))
    topics = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    partitions = [
        Carried((topic, number), topic, replicas, draw(st.integers(0, 5)))
        for topic, size in enumerate(topics)
        for number, replicas in enumerate(place(size, factor, [Candidate(node, of[node]) for node in nodes]))
    ]
    leaving = set(draw(st.lists(st.sampled_from(nodes), max_size=2)))
    refusing = set(draw(st.lists(st.sampled_from(nodes), max_size=2)))
    kept = Counter(node for partition in partitions for node in partition.replicas)
    brokers = [Candidate(node, of[node], kept[node], accepts=node not in refusing) for node in nodes]
    return brokers, partitions, leaving


@given(carried())
def test_what_leaves_is_replaced_and_nothing_else_is_touched(given_cluster) -> None:  # type: ignore[no-untyped-def]
    brokers, partitions, leaving = given_cluster
    plan = list(replace(partitions, brokers, leaving))
    assert plan == list(replace(partitions, brokers, leaving))
    before = {partition.key: partition.replicas for partition in partitions}
    takers = {broker.node_id for broker in brokers if broker.accepts} - leaving
    for move in plan:
        assert len(set(move.replicas)) == len(before[move.key])
        for old, new in zip(before[move.key], move.replicas, strict=True):
            assert old == new or (old in leaving and new in takers)
    after = before | {move.key: move.replicas for move in plan}
    for replicas in after.values():
        if leaving.intersection(replicas):
            assert takers <= set(replicas), "only for want of brokers does a replica stay"


@given(carried())
def test_a_new_replica_uses_another_rack_where_there_is_one(given_cluster) -> None:  # type: ignore[no-untyped-def]
    brokers, partitions, leaving = given_cluster
    racks = {broker.node_id: broker.rack for broker in brokers}
    takers = {broker.node_id for broker in brokers if broker.accepts} - leaving
    before = {partition.key: partition.replicas for partition in partitions}
    for move in replace(partitions, brokers, leaving):
        left = [node for node in before[move.key] if node in leaving]
        if len(left) > 1:
            continue
        (new,) = set(move.replicas) - set(before[move.key])
        others = {racks[node] for node in move.replicas if node != new} - {None}
        if racks[new] in others:
            assert all(racks[node] in others for node in takers - set(before[move.key]))


def test_what_a_lost_broker_carried_is_shared_out_evenly() -> None:
    candidates = [Candidate(NodeId(node), f"r{node % 3}") for node in range(9)]
    plan = place(90, 3, candidates)
    partitions = [Carried(number, "t", replicas) for number, replicas in enumerate(plan)]
    kept = Counter(node for replicas in plan for node in replicas)
    brokers = [Candidate(c.node_id, c.rack, kept[c.node_id], accepts=c.node_id != 4) for c in candidates]
    moves = list(replace(partitions, brokers, {NodeId(4)}))
    assert len(moves) == kept[4]
    gained = Counter(new for move in moves for new in set(move.replicas) - set(plan[int(str(move.key))]))
    # the rack of the lost one has two others left, and every partition goes on using three racks
    assert sorted(gained) == [1, 7]
    assert abs(gained[NodeId(1)] - gained[NodeId(7)]) <= 2


def test_the_new_replica_takes_the_place_of_the_one_that_leaves() -> None:
    brokers = [Candidate(NodeId(node)) for node in range(4)]
    moves = list(replace([Carried("p", "t", (NodeId(2), NodeId(0), NodeId(1)))], brokers, {NodeId(0)}))
    assert moves == [Move("p", (NodeId(2), NodeId(3), NodeId(1)))]


def test_equal_brokers_get_the_bytes_where_there_are_fewest() -> None:
    brokers = [Candidate(NodeId(0), accepts=False), Candidate(NodeId(1), size=9), Candidate(NodeId(2), size=5)]
    (move,) = replace([Carried("p", "t", (NodeId(0),), 7)], brokers, {NodeId(0)})
    assert move.replicas == (2,)


def test_a_broker_that_leaves_one_partition_may_take_another() -> None:
    brokers = [Candidate(NodeId(n), replicas=1) for n in range(3)]
    partitions = [
        Carried("p", "t", (NodeId(0), NodeId(1)), leaving=frozenset({NodeId(0)})),
        Carried("q", "t", (NodeId(1), NodeId(2)), leaving=frozenset({NodeId(2)})),
    ]
    moves = list(replace(partitions, brokers, ()))
    assert moves == [Move("p", (NodeId(2), NodeId(1))), Move("q", (NodeId(1), NodeId(0)))]
