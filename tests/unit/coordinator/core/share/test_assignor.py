"""Whatever members subscribe to: each partition has a reader, each member something to read, and equals get equal shares."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from millstream_coordinator.core.group.assignors import Subscriber
from millstream_coordinator.core.group.partitions import Partitions, TopicIdPartition
from millstream_coordinator.core.share.assignor import assign_shared

T, U = UUID(int=1), UUID(int=2)
topics = st.sampled_from([frozenset({T}), frozenset({U}), frozenset({T, U}), frozenset()])
members = st.dictionaries(st.sampled_from("abcdefg"), topics, max_size=7)
partitions = st.frozensets(st.tuples(st.sampled_from([T, U]), st.integers(0, 5)), max_size=8)


@given(members, partitions, members)
def test_everybody_reads_and_everything_is_read(
    before: dict[str, frozenset[UUID]], readable: Partitions, after: dict[str, frozenset[UUID]]
) -> None:
    targets = assign_shared({name: Subscriber(wanted) for name, wanted in before.items()}, readable)
    subscribers = {name: Subscriber(wanted, target=targets.get(name, frozenset())) for name, wanted in after.items()}
    assigned = assign_shared(subscribers, readable)
    assert assigned.keys() == after.keys()
    for name, given_to in assigned.items():
        wanted = {each for each in readable if each[0] in after[name]}
        assert given_to <= wanted
        assert given_to or not wanted
    read = frozenset().union(*assigned.values())
    assert read == {each for each in readable if any(each[0] in wanted for wanted in after.values())}
    settled = assign_shared({name: Subscriber(after[name], target=assigned[name]) for name in after}, readable)
    assert settled == assigned, "what is settled must not move"


def test_the_most_crowded_give_way_at_once_and_not_at_the_next_occasion() -> None:
    """`g` had its partition alone; two came that want nothing else, and `g` may read others."""
    readable = frozenset({(T, 0), (T, 1), (U, 0)})
    given_to = {"a": {(T, 0)}, "b": {(T, 1)}, "g": {(U, 0)}}
    topics = {"a": {T}, "b": {T}, "c": {U}, "d": {U}, "g": {T, U}}
    subscribers = {
        name: Subscriber(frozenset(wanted), target=frozenset(given_to.get(name, ()))) for name, wanted in topics.items()
    }
    assigned = assign_shared(subscribers, readable)
    assert assigned["g"] == {(T, 0)}
    assert assigned["c"] == assigned["d"] == {(U, 0)}


@given(st.integers(1, 9), st.integers(1, 9))
def test_equals_get_equal_shares(people: int, count: int) -> None:
    names = [f"m{number}" for number in range(people)]
    readable = frozenset((T, number) for number in range(count))
    assigned = assign_shared({name: Subscriber(frozenset({T})) for name in names}, readable)
    sizes = {len(each) for each in assigned.values()}
    assert max(sizes) - min(sizes) <= 1
    readers: dict[TopicIdPartition, int] = dict.fromkeys(readable, 0)
    for each in assigned.values():
        for partition in each:
            readers[partition] += 1
    assert max(readers.values()) - min(readers.values()) <= 1
