"""Plans for other brokers: everything on those that are named, evenly, and nothing moved that may stay."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_client.assignment import TopicPartition
from millstream_client.errors import InvalidData
from millstream_client.reassignment import drained, spread


def at(*replicas: list[int]) -> dict[TopicPartition, list[int]]:
    return {TopicPartition("orders", index): each for index, each in enumerate(replicas)}


def test_what_may_stay_stays() -> None:
    now = at([1, 2], [2, 3], [3, 1])
    assert spread(now, [1, 2, 3]) == now


def test_a_broker_is_emptied_onto_the_others() -> None:
    planned = spread(at([1, 2], [2, 3], [3, 1]), [1, 2, 4])
    assert [sorted(each) for each in planned.values()] == [[1, 2], [2, 4], [1, 4]]


def test_more_and_fewer_replicas() -> None:
    assert [sorted(each) for each in spread(at([1], [1]), [1, 2], 2).values()] == [[1, 2], [1, 2]]
    assert Counter(each[0] for each in spread(at([1, 2], [1, 2]), [1, 2], 1).values()) == {1: 1, 2: 1}


@pytest.mark.parametrize("factor", [0, 3])
def test_as_many_replicas_as_there_are_brokers_at_most(factor: int) -> None:
    with pytest.raises(InvalidData, match="brokers"):
        spread(at([1]), [1, 2], factor)


@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True), min_size=1, max_size=12),
    st.sets(st.integers(1, 9), min_size=3, max_size=9),
)
def test_it_is_complete_and_even(now: list[list[int]], brokers: set[int]) -> None:
    planned = spread(at(*now), sorted(brokers))
    assert [len(each) for each in planned.values()] == [len(each) for each in now]
    assert all(len(set(each)) == len(each) and set(each) <= brokers for each in planned.values())
    load = Counter(broker for each in planned.values() for broker in each)
    share = -(-sum(map(len, now)) // len(brokers))
    # A partition takes no broker twice, so the last one to be filled may have to go over the share.
    assert max(load.values()) <= share + 1


def test_what_a_broker_leaves_goes_to_the_least_loaded_in_its_place() -> None:
    now = at([3, 1], [1, 3], [1, 2], [2, 1])
    planned = drained(now, 3, [1, 2, 3, 4], {})
    assert planned == {TopicPartition("orders", 0): [4, 1], TopicPartition("orders", 1): [1, 4]}


def test_what_a_broker_leaves_goes_to_a_rack_of_its_own() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    assert list(drained(at([1, 3], [4], [4]), 3, [1, 2, 4], racks).values()) == [[1, 4]]


def test_a_broker_is_not_drained_where_no_other_may_take_its_replicas() -> None:
    with pytest.raises(InvalidData, match="no other broker may take that of broker 3"):
        drained(at([1, 2, 3]), 3, [1, 2, 3], {})


@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True), min_size=1, max_size=12),
    st.dictionaries(st.integers(1, 6), st.sampled_from(["a", "b", None])),
)
def test_who_is_drained_has_nothing_and_nothing_else_moves(now: list[list[int]], racks: dict[int, str | None]) -> None:
    before = at(*now)
    planned = drained(before, 6, range(1, 7), racks)
    assert planned.keys() == {each for each, replicas in before.items() if 6 in replicas}
    for each, replicas in planned.items():
        assert 6 not in replicas
        assert len(set(replicas)) == len(before[each])
        assert [one for one in replicas if one in before[each]] == [one for one in before[each] if one != 6]
