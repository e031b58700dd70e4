from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.ids import NodeId
from millstream_cluster.placement import Candidate, Carried, Move, even_leaders, even_replicas, place


class Cluster:
    """What brokers carry, as moves change it."""

    def __init__(self, racks: Sequence[str | None], partitions: Sequence[Carried], refusing: set[int]) -> None:
        self.racks = dict(enumerate(racks))
        self.partitions = {partition.key: partition for partition in partitions}
        self.refusing = refusing

    def brokers(self) -> list[Candidate]:
        kept = Counter(node for partition in self.partitions.values() for node in partition.replicas)
        sizes: Counter[int] = Counter()
        for partition in self.partitions.values():
            sizes.update(dict.fromkeys(partition.replicas, partition.size))
        return [
            Candidate(NodeId(node), rack, kept[NodeId(node)], size=sizes[node], accepts=node not in self.refusing)
            for node, rack in self.racks.items()
        ]

    def held(self, node: NodeId) -> list[Carried]:
        return [partition for partition in self.partitions.values() if node in partition.replicas]

    def plan(self) -> list[Move]:
        return list(even_replicas(self.brokers(), self.held))

    def make(self, move: Move) -> None:
        before = self.partitions[move.key]
        self.partitions[move.key] = Carried(before.key, before.topic, move.replicas, before.size)

    def unevenness(self) -> float:
        """As the plan measures it, up to a constant."""
        accepting = [broker for broker in self.brokers() if broker.accepts]
        total = 0.0
        for counts in ([b.replicas for b in accepting], [b.size for b in accepting]):
            mean = max(sum(counts) / max(len(counts), 1), 1)
            total += sum((count / mean) ** 2 for count in counts)
        return total

    def spread(self, replicas: Sequence[int]) -> int:
        racks = [self.racks[node] for node in replicas]
        return len(set(racks) - {None}) + racks.count(None)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Some brokers that carry everything, and some that were added."""
    old = draw(st.integers(1, 5))
    racks = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=old, max_size=8))
    factor = draw(st.integers(1, min(old, 3)))
    plan = place(draw(st.integers(1, 12)), factor, [Candidate(NodeId(n), rack) for n, rack in enumerate(racks[:old])])
    sized = draw(st.booleans())
    partitions = [
        Carried(n, n % 2, replicas, draw(st.integers(0, 9)) if sized else 0) for n, replicas in enumerate(plan)
    ]
    return Cluster(racks, partitions, set(draw(st.lists(st.integers(0, len(racks) - 1), max_size=1))))


@given(clusters())
def test_every_move_leaves_brokers_more_even_and_may_be_the_last(cluster: Cluster) -> None:
    plan = cluster.plan()
    assert plan == cluster.plan()
    assert len({move.key for move in plan}) == len(plan)
    for move in plan:
        uneven, before = cluster.unevenness(), cluster.partitions[move.key].replicas
        cluster.make(move)
        assert cluster.unevenness() < uneven
        assert len(set(move.replicas)) == len(before)
        assert cluster.spread(move.replicas) >= cluster.spread(before)
        (new,), (old,) = set(move.replicas) - set(before), set(before) - set(move.replicas)
        assert not cluster.refusing & {new, old}


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 30), st.data())
def test_added_brokers_get_their_share_with_the_fewest_moves(
    old: int, added: int, count: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, old))
    plan = place(count, factor, [Candidate(NodeId(node)) for node in range(old)])
    cluster = Cluster([None] * (old + added), [Carried(n, 0, replicas) for n, replicas in enumerate(plan)], set())
    before = [broker.replicas for broker in cluster.brokers()]
    made = 0
    while moves := cluster.plan():
        made += len(moves)
        for move in moves:
            cluster.make(move)
    after = [broker.replicas for broker in cluster.brokers()]
    assert max(after) - min(after) <= 1
    assert made == sum(max(now - was, 0) for was, now in zip(before, after, strict=True))


def test_what_is_even_stays_where_it_is() -> None:
    plan = [tuple(NodeId((first + step) % 6) for step in range(3)) for first in range(6)] * 5
    cluster = Cluster(
        [f"r{n % 3}" for n in range(6)], [Carried(n, 0, replicas) for n, replicas in enumerate(plan)], set()
    )
    assert cluster.plan() == []
    assert even_leaders(list(cluster.partitions.values()), [NodeId(node) for node in range(6)]) == []


def test_bytes_are_evened_where_numbers_are_even() -> None:
    sizes = {0: (100, 100), 1: (1, 1)}
    partitions = [
        Carried((node, n), 0, (NodeId(node),), size) for node, both in sizes.items() for n, size in enumerate(both)
    ]
    cluster = Cluster([None, None], partitions, set())
    for move in cluster.plan():
        cluster.make(move)
    assert [broker.size for broker in cluster.brokers()] == [101, 101]


@given(st.lists(st.permutations(range(4)), min_size=1, max_size=24), st.integers(1, 4))
def test_leaders_are_as_even_as_the_replicas_allow_and_no_data_moves(orders: list[list[int]], factor: int) -> None:
    partitions = [Carried(n, 0, tuple(NodeId(each) for each in order[:factor])) for n, order in enumerate(orders)]
    plan = even_leaders(partitions, [NodeId(node) for node in range(4)])
    after = {partition.key: partition.replicas for partition in partitions}
    for move in plan:
        assert set(move.replicas) == set(after[move.key])
        assert move.replicas != after[move.key]
        after[move.key] = move.replicas
    led = Counter(replicas[0] for replicas in after.values())
    assert max(led.values()) == _fewest_for_the_busiest([partition.replicas for partition in partitions])


def _fewest_for_the_busiest(partitions: list[tuple[NodeId, ...]]) -> int:
    """By Hall's theorem: every group of brokers leads at least what only it has replicas of."""
    groups = [{node for node in range(4) if mask >> node & 1} for mask in range(1, 16)]
    return max(-(-sum(set(p) <= group for p in partitions) // len(group)) for group in groups)
