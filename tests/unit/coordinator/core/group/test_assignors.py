"""Laws of the assignors: every partition has one reader, the load is even, and nothing moves without need."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream_coordinator.core.group.assignors import ASSIGNORS, Subscriber, assign_range, assign_uniform

TOPICS = [UUID(int=number + 1) for number in range(4)]
counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 12), min_size=1)
subscriptions = st.dictionaries(
    st.sampled_from([f"m{n}" for n in range(8)]), st.frozensets(st.sampled_from(TOPICS), min_size=1), min_size=1
)


def everyone(names: int, *topics: UUID) -> dict[str, Subscriber]:
    return {f"m{number}": Subscriber(frozenset(topics)) for number in range(names)}


def again(members: dict[str, Subscriber], assigned: dict[str, frozenset[tuple[UUID, int]]]) -> dict[str, Subscriber]:
    return {name: Subscriber(s.topics, s.instance_id, assigned.get(name, frozenset())) for name, s in members.items()}


@pytest.mark.parametrize("name", ASSIGNORS)
@given(subscribed=subscriptions, topics=counts, before=subscriptions)
def test_every_partition_that_anyone_wants_has_one_reader_who_wants_it(
    name: str, subscribed: dict[str, frozenset[UUID]], topics: dict[UUID, int], before: dict[str, frozenset[UUID]]
) -> None:
    assign = ASSIGNORS[name]
    members = {member: Subscriber(wanted) for member, wanted in subscribed.items()}
    earlier = assign({member: Subscriber(wanted) for member, wanted in before.items()}, topics)
    assigned = assign(again(members, earlier), topics)
    assert assigned.keys() == members.keys()
    given_out = [partition for partitions in assigned.values() for partition in partitions]
    wanted = {t for member in members.values() for t in member.topics}
    assert sorted(given_out) == sorted((t, n) for t, count in topics.items() if t in wanted for n in range(count))
    assert all(topic in members[member].topics for member, has in assigned.items() for topic, _ in has)


@given(st.integers(1, 9), counts, st.integers(1, 9))
def test_uniform_is_even_and_moves_only_what_it_must(before: int, topics: dict[UUID, int], after: int) -> None:
    earlier = assign_uniform(everyone(before, *TOPICS), topics)
    members = again(everyone(after, *TOPICS), earlier)
    assigned = assign_uniform(members, topics)
    sizes = [len(has) for has in assigned.values()]
    assert max(sizes) - min(sizes) <= 1
    assert assign_uniform(again(members, assigned), topics) == assigned, "what is even stays"
    if after >= before:
        gained = [name for name in earlier if assigned[name] - earlier[name]]
        assert gained == [], "who was there already only gives up"
    else:
        assert all(earlier[name] <= assigned[name] for name in assigned), "who is left keeps what it has"


@given(subscriptions, counts)
def test_uniform_leaves_no_move_that_would_make_it_more_even(
    subscribed: dict[str, frozenset[UUID]], topics: dict[UUID, int]
) -> None:
    members = {member: Subscriber(wanted) for member, wanted in subscribed.items()}
    assigned = assign_uniform(members, topics)
    for rich, has in assigned.items():
        for poor, other in assigned.items():
            if len(has) >= len(other) + 2:
                assert not any(topic in members[poor].topics for topic, _ in has), (rich, poor)
    assert assign_uniform(again(members, assigned), topics) == assigned


def test_a_move_that_only_became_possible_by_another_one_is_made() -> None:
    """m2 gets the partitions that m0 may have only after m0 was found to have no one to take from."""
    one, two, three, four = TOPICS
    picky, wide = frozenset({one, three, four}), frozenset(TOPICS)
    wanted = [frozenset({one}), frozenset({one}), frozenset({one, two}), picky, wide, wide, wide]
    members = {f"m{number}": Subscriber(topics) for number, topics in enumerate(wanted)}
    assigned = assign_uniform(members, {one: 5, two: 3, three: 5, four: 12})
    for has in assigned.values():
        for poor, other in assigned.items():
            assert len(has) < len(other) + 2 or not any(topic in members[poor].topics for topic, _ in has)


@given(st.integers(1, 9), st.integers(0, 30))
def test_range_gives_neighbours_and_splits_like_topics_alike(names: int, partitions: int) -> None:
    assigned = assign_range(everyone(names, *TOPICS[:2]), {TOPICS[0]: partitions, TOPICS[1]: partitions})
    for has in assigned.values():
        first, second = (sorted(n for topic, n in has if topic == wanted) for wanted in TOPICS[:2])
        assert first == second
        assert not first or first == list(range(first[0], first[-1] + 1))
        assert len(first) in (partitions // names, partitions // names + 1)


def test_range_keeps_static_members_in_their_order() -> None:
    members = {
        "z": Subscriber(frozenset(TOPICS[:1]), "instance-0"),
        "a": Subscriber(frozenset(TOPICS[:1]), "instance-1"),
        "0": Subscriber(frozenset(TOPICS[:1])),
    }
    assigned = assign_range(members, {TOPICS[0]: 3})
    assert [min(n for _, n in assigned[name]) for name in ("z", "a", "0")] == [0, 1, 2]
