"""More and fewer replicas for partitions that are there."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.ids import NodeId
from millstream_cluster.placement import Candidate, Carried, PlacementError, place, resize


def brokers(count: int, racks: int = 0) -> list[Candidate]:
    return [Candidate(NodeId(node), f"rack-{node % racks}" if racks else None) for node in range(count)]


def topic(partitions: int, factor: int, candidates: list[Candidate]) -> list[Carried]:
    return [Carried(index, "t", replicas) for index, replicas in enumerate(place(partitions, factor, candidates))]


@given(st.integers(1, 12), st.integers(3, 6), st.integers(1, 3), st.integers(1, 3), st.sampled_from([0, 3]))
def test_every_partition_gets_its_factor_and_keeps_its_leader(
    partitions: int, count: int, before: int, after: int, racks: int
) -> None:
    candidates = brokers(count, racks)
    now = topic(partitions, before, candidates)
    moves = {move.key: move.replicas for move in resize(now, candidates, after)}
    held: Counter[NodeId] = Counter()
    for each in now:
        replicas = moves.get(each.key, each.replicas)
        assert len(set(replicas)) == len(replicas) == after
        assert replicas[0] == each.replicas[0]
        smaller, larger = sorted((set(replicas), set(each.replicas)), key=len)
        assert smaller <= larger, "nothing else is touched"
        if racks and after <= racks <= count:
            assert len({candidates[node].rack for node in replicas}) == after
        held.update(replicas)
    assert moves == {move.key: move.replicas for move in resize(now, candidates, after)}
    if not racks and after > before:
        counts = [held[candidate.node_id] for candidate in candidates]
        assert max(counts) - min(counts) <= 2


def test_who_may_take_nothing_gives_its_replica_up_first() -> None:
    candidates = [Candidate(NodeId(0)), Candidate(NodeId(1), accepts=False), Candidate(NodeId(2), replicas=50)]
    [move] = resize([Carried(0, "t", (NodeId(0), NodeId(1), NodeId(2)))], candidates, 2)
    assert move.replicas == (0, 2)


def test_too_few_brokers_are_told() -> None:
    candidates = [Candidate(NodeId(0)), Candidate(NodeId(1), accepts=False)]
    with pytest.raises(PlacementError, match="2 replicas need as many brokers, and 1 may take them"):
        list(resize([Carried(0, "t", (NodeId(0),))], candidates, 2))
