from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.ids import NodeId
from millstream_cluster.placement import Candidate, PlacementError, place


@st.composite
def brokers(draw: st.DrawFn) -> list[Candidate]:
    ids = draw(st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True))
    racks = st.one_of(st.none(), st.sampled_from("abc"))
    carried = st.integers(0, 9)
    return [Candidate(NodeId(node), draw(racks), draw(carried), draw(carried)) for node in ids]


@given(brokers(), st.integers(1, 20), st.data())
def test_replicas_are_distinct_live_and_planned_the_same_each_time(
    candidates: list[Candidate], partitions: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(candidates)))
    plan = place(partitions, factor, candidates)
    assert plan == place(partitions, factor, candidates)
    assert len(plan) == partitions
    for replicas in plan:
        assert len(set(replicas)) == factor
        assert set(replicas) <= {candidate.node_id for candidate in candidates}


@given(st.integers(1, 9), st.integers(1, 60))
def test_equal_brokers_get_equal_shares(count: int, partitions: int) -> None:
    plan = place(partitions, 1, [Candidate(NodeId(node)) for node in range(count)])
    shares = Counter(dict.fromkeys(range(count), 0)) + Counter(replicas[0] for replicas in plan)
    most = max(shares.values())
    least = min(shares.get(node, 0) for node in range(count))
    assert most - least <= 1


@given(brokers(), st.integers(1, 20))
def test_a_topic_is_spread_whatever_its_brokers_carry_of_others(candidates: list[Candidate], partitions: int) -> None:
    led = Counter(replicas[0] for replicas in place(partitions, 1, candidates))
    shares = [led[candidate.node_id] for candidate in candidates]
    assert max(shares) - min(shares) <= 1


def test_what_a_topic_gets_more_goes_where_it_has_fewest() -> None:
    new, old = Candidate(NodeId(1), replicas=0), Candidate(NodeId(2), None, 9, 9, topic_replicas=2, topic_leaders=2)
    assert place(3, 1, [new, old]) == [(1,), (1,), (1,)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=50), st.integers(1, 7))
def test_topics_that_come_one_after_another_load_brokers_evenly(sizes: list[int], count: int) -> None:
    led = Counter({NodeId(node): 0 for node in range(count)})
    for partitions in sizes:
        candidates = [Candidate(node, None, led[node], led[node]) for node in sorted(led)]
        led.update(replicas[0] for replicas in place(partitions, 1, candidates))
    assert max(led.values()) - min(led.values()) <= 1


@given(brokers(), st.integers(1, 20))
def test_a_partition_uses_as_many_racks_as_it_can(candidates: list[Candidate], partitions: int) -> None:
    racked = [c for c in candidates if c.rack is not None]
    racks = {c.node_id: c.rack for c in racked}
    factor = len(set(racks.values()))
    if factor:
        for replicas in place(partitions, factor, racked):
            assert len({racks[node] for node in replicas}) == factor


def test_too_few_brokers_is_an_error() -> None:
    with pytest.raises(PlacementError):
        place(1, 2, [Candidate(NodeId(1))])


@given(st.integers(1, 9), st.integers(1, 60), st.data())
def test_equal_brokers_lead_equally_many_and_carry_about_as_many(
    count: int, partitions: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, count))
    plan = place(partitions, factor, [Candidate(NodeId(node)) for node in range(count)])
    led = Counter(replicas[0] for replicas in plan)
    kept = Counter(node for replicas in plan for node in replicas)
    for shares, most in ((led, 1), (kept, 2)):
        each = [shares[node] for node in range(count)]
        assert max(each) - min(each) <= most


@pytest.mark.parametrize("brokers", [6, 12, 30])
def test_when_a_broker_fails_the_others_share_out_what_it_led(brokers: int) -> None:
    plan = place(brokers * 20, 3, [Candidate(NodeId(node)) for node in range(brokers)])
    for failed in range(brokers):
        heirs = Counter(replicas[1] for replicas in plan if replicas[0] == failed)
        assert heirs.total() == 20
        assert max(heirs.values()) <= 8


def test_thousands_of_partitions_on_hundreds_of_brokers_are_placed_as_evenly() -> None:
    candidates = [Candidate(NodeId(node), f"rack-{node % 3}") for node in range(200)]
    plan = place(10_000, 3, candidates)
    kept = Counter(node for replicas in plan for node in replicas)
    # 67, 67 and 66 brokers share what three racks have alike
    assert (min(kept.values()), max(kept.values())) == (149, 152)
    assert all(len({node % 3 for node in replicas}) == 3 for replicas in plan)
