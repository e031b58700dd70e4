"""Brokers that were added get their share: replicas, and then leaders, go from where there are most to where there are fewest.

Replicas move one by one, and each move leaves the brokers more even than they were: the plan ends where no single move would.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from millstream_cluster.ids import NodeId
from millstream_cluster.placement.candidate import Candidate
from millstream_cluster.placement.moves import Carried, Move

Held: TypeAlias = Callable[[NodeId], Sequence[Carried]]
"""What a broker carries, in a stable order. It need not show the moves of the plan that is being made."""

ACROSS_RACKS_MAX = 64
"""How many pairs of brokers in different racks are tried for one move; where each partition uses all racks, none will do."""


def even_replicas(brokers: Sequence[Candidate], held: Held) -> Iterator[Move]:
    """Move replicas until the brokers that accept them carry as many each, or no move would bring them nearer to that.

    Where sizes are known, bytes count as much as numbers do. A partition moves at most once in a plan, to a broker that
    does not have it, and never to where it would use fewer racks. The new replica takes the old one's place in the order.
    """
    load = _Load(brokers, held)
    while (move := load.next_move()) is not None:
        yield move


def even_leaders(partitions: Sequence[Carried], brokers: Sequence[NodeId]) -> list[Move]:
    """Put other replicas first, which moves no data, until the preferred leaders are as even as the replicas allow.

    `partitions` are all there are. Only `brokers` are put first, and what others are first of stays so.
    """
    leading: dict[NodeId, dict[Hashable, Carried]] = {node: {} for node in sorted(brokers)}
    for partition in partitions:
        if partition.replicas[0] in leading:
            leading[partition.replicas[0]][partition.key] = partition
    _even_out(leading)
    after = {key: partition.replicas for kept in leading.values() for key, partition in kept.items()}
    planned = ((partition, after.get(partition.key, partition.replicas)) for partition in partitions)
    return [Move(partition.key, replicas) for partition, replicas in planned if replicas != partition.replicas]


class _Load:
    """What each accepting broker carries while a plan is made.

    How uneven brokers are is the sum of the squares of what each carries, in parts of the mean; a move is worth what it takes off that.
    """

    def __init__(self, brokers: Sequence[Candidate], held: Held) -> None:
        self._held = held
        self._racks = {broker.node_id: broker.rack for broker in brokers}
        accepting = [broker for broker in brokers if broker.accepts]
        self._replicas = {broker.node_id: broker.replicas for broker in accepting}
        self._sizes = {broker.node_id: broker.size for broker in accepting}
        count = max(len(accepting), 1)
        self._mean_replicas = max(sum(self._replicas.values()) / count, 1)
        self._mean_size = max(sum(self._sizes.values()) / count, 1)
        self._moved: set[Hashable] = set()
        self._topics_moved: Counter[tuple[NodeId, Hashable]] = Counter()

    def next_move(self) -> Move | None:
        for giver, taker in self._pairs():
            found = self._best(giver, taker)
            if found is not None:
                self._note(found, giver, taker)
                return Move(found.key, tuple(taker if node == giver else node for node in found.replicas))
        return None

    def _pairs(self) -> Iterator[tuple[NodeId, NodeId]]:
        """Who might give to whom, those with the greatest difference first, and those within a rack before all others."""
        nodes = sorted(self._replicas, key=lambda node: (self._pressure(node), node))
        pairs = [(giver, taker) for giver in reversed(nodes) for taker in nodes if self._differ(giver, taker)]
        yield from (pair for pair in pairs if self._racks[pair[0]] == self._racks[pair[1]])
        across = (pair for pair in pairs if self._racks[pair[0]] != self._racks[pair[1]])
        yield from islice(across, ACROSS_RACKS_MAX)

    def _pressure(self, node: NodeId) -> float:
        return self._replicas[node] / self._mean_replicas + self._sizes[node] / self._mean_size

    def _differ(self, giver: NodeId, taker: NodeId) -> bool:
        return self._replicas[giver] > self._replicas[taker] + 1 or self._sizes[giver] > self._sizes[taker]

    def _best(self, giver: NodeId, taker: NodeId) -> Carried | None:
        """What is worth most to be moved; among equals, of the topic of which the giver has most more than the taker."""
        giver_topics = Counter(each.topic for each in self._held(giver))
        taker_topics = Counter(each.topic for each in self._held(taker))
        best: Carried | None = None
        best_worth = (0.0, 0)
        for each in self._held(giver):
            if each.key in self._moved or taker in each.replicas or not self._keeps_racks(each, giver, taker):
                continue
            worth = self._worth(giver, taker, each.size)
            more = giver_topics[each.topic] + self._topics_moved[giver, each.topic]
            more -= taker_topics[each.topic] + self._topics_moved[taker, each.topic]
            if worth > 1e-12 and (best is None or (worth, more) > best_worth):
                best, best_worth = each, (worth, more)
        return best

    def _worth(self, giver: NodeId, taker: NodeId, size: int) -> float:
        replicas = (self._replicas[giver] - self._replicas[taker] - 1) / self._mean_replicas**2
        sizes = size * (self._sizes[giver] - self._sizes[taker] - size) / self._mean_size**2
        return replicas + sizes

    def _keeps_racks(self, partition: Carried, giver: NodeId, taker: NodeId) -> bool:
        if self._racks[giver] == self._racks[taker]:
            return True
        before = [self._racks.get(node) for node in partition.replicas]
        after = [self._racks.get(taker if node == giver else node) for node in partition.replicas]
        return _spread(after) >= _spread(before)

    def _note(self, partition: Carried, giver: NodeId, taker: NodeId) -> None:
        self._moved.add(partition.key)
        for node, change in ((giver, -1), (taker, 1)):
            self._replicas[node] += change
            self._sizes[node] += change * partition.size
            self._topics_moved[node, partition.topic] += change


def _spread(racks: list[str | None]) -> int:
    """How many racks these are; each broker without one counts for itself."""
    return len({rack for rack in racks if rack is not None}) + racks.count(None)


def _even_out(leading: dict[NodeId, dict[Hashable, Carried]]) -> None:
    """Shift leaders along chains of brokers, each with a replica of something that the one before it leads.

    A chain ends at a broker that leads at least two fewer than the one where it begins; without any, leaders are as even
    as they can be. Who was reached in vain from one that leads most need not be looked at again: no later chain can pass there.
    """
    settled: set[NodeId] = set()
    while len(settled) < len(leading):
        most = max((node for node in leading if node not in settled), key=lambda node: (len(leading[node]), -node))
        chain, reached = _chain(leading, most)
        if not chain:
            settled |= reached
            continue
        for giver, taker, partition in chain:
            others = tuple(node for node in partition.replicas if node != taker)
            del leading[giver][partition.key]
            leading[taker][partition.key] = Carried(partition.key, partition.topic, (taker, *others), partition.size)


_Link: TypeAlias = tuple[NodeId, NodeId, Carried]


def _chain(leading: dict[NodeId, dict[Hashable, Carried]], start: NodeId) -> tuple[list[_Link], set[NodeId]]:
    """The links from `start` to the nearest broker that leads two fewer, and who was reached on the way."""
    enough = len(leading[start]) - 2
    link_to: dict[NodeId, _Link] = {}
    reached = {start}
    to_visit = deque([start])
    while to_visit:
        giver = to_visit.popleft()
        for partition in leading[giver].values():
            for taker in partition.replicas[1:]:
                if taker in reached or taker not in leading:
                    continue
                reached.add(taker)
                link_to[taker] = (giver, taker, partition)
                if len(leading[taker]) <= enough:
                    return _links(link_to, start, taker), reached
                to_visit.append(taker)
    return [], reached


def _links(link_to: dict[NodeId, _Link], start: NodeId, end: NodeId) -> list[_Link]:
    links = []
    while end != start:
        links.append(link_to[end])
        end = link_to[end][0]
    return links
