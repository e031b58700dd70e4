"""Plans for other brokers: everything on those that are named, evenly, and nothing moved that may stay."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_client.assignment import TopicPartition
from millstream_client.errors import InvalidData
from millstream_client.reassignment import spread


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
