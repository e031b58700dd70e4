"""Even shares, the same for whoever computes them."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.range import RangePartitionAssignor

from millstream_client.assignment import Subscriber, TopicPartition, assign_ranges, range_shares


@given(st.integers(0, 200), st.integers(1, 50))
def test_shares_are_disjoint_complete_and_even(partitions: int, readers: int) -> None:
    shares = range_shares(partitions, readers)
    assert [each for share in shares for each in share] == list(range(partitions))
    sizes = [len(share) for share in shares]
    assert len(sizes) == readers
    assert max(sizes) - min(sizes) <= 1


def test_each_topic_is_shared_by_those_who_read_it() -> None:
    subscribers = [Subscriber("b", ["orders", "logs"]), Subscriber("a", ["orders"]), Subscriber("c", ["gone"])]
    assert assign_ranges(subscribers, {"orders": 3, "logs": 1}) == {
        "a": [TopicPartition("orders", 0), TopicPartition("orders", 1)],
        "b": [TopicPartition("logs", 0), TopicPartition("orders", 2)],
        "c": [],
    }


def test_static_members_come_first_by_their_instance() -> None:
    subscribers = [Subscriber("a", ["t"]), Subscriber("z", ["t"], "one"), Subscriber("y", ["t"], "two")]
    assigned = assign_ranges(subscribers, {"t": 3})
    assert [assigned[member][0].partition for member in ("z", "y", "a")] == [0, 1, 2]


class OnlyCounts:
    """As much of kafka-python's cluster as its assignor asks for."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._counts[topic])) if topic in self._counts else None


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 12), min_size=1),
    st.dictionaries(st.text("mn", min_size=1, max_size=3), st.sets(st.sampled_from("abcd")), min_size=1),
)
def test_shares_are_kafka_pythons(counts: dict[str, int], topics_of: dict[str, set[str]]) -> None:
    subscribers = [Subscriber(member, sorted(topics & counts.keys())) for member, topics in topics_of.items()]
    members = [
        SimpleNamespace(member_id=each.member_id, group_instance_id=None, metadata=SimpleNamespace(topics=each.topics))
        for each in subscribers
    ]
    theirs = RangePartitionAssignor.assign(OnlyCounts(counts), members)
    ours = assign_ranges(subscribers, counts)
    assert {member: sorted(partitions) for member, partitions in ours.items()} == {
        member: sorted(
            TopicPartition(topic, partition)
            for topic, partitions in assignment.assigned_partitions
            for partition in partitions
        )
        for member, assignment in theirs.items()
    }
