"""Other brokers for replicas whose broker goes away, or is gone."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

from millstream_cluster.ids import NodeId
from millstream_cluster.placement.candidate import Candidate
from millstream_cluster.placement.moves import Carried, Move


def replace(partitions: Iterable[Carried], brokers: Sequence[Candidate], leaving: Collection[NodeId]) -> Iterator[Move]:
    """Give every replica on a broker that leaves, or leaves its partition, another broker, and touch no other replica.

    A new replica takes the place of the one that leaves, so the preferred leader stays who it was unless it is the one that leaves.
    It goes to a rack that the partition does not use, if there is one, then where there are fewest replicas of the topic,
    fewest in all, and fewest bytes. A partition for which there is no broker left out is left as it is.
    `partitions` are all of the topics that are concerned, and `brokers` all that there are, so that these counts are right.
    """
    known = list(partitions)
    load = _Load(known, brokers, leaving)
    for partition in known:
        if not any(node in leaving or node in partition.leaving for node in partition.replicas):
            continue
        replicas = load.replaced(partition)
        if replicas != partition.replicas:
            yield Move(partition.key, replicas)


class _Load:
    """What each broker carries while the plan is made."""

    def __init__(
        self, partitions: Sequence[Carried], brokers: Sequence[Candidate], leaving: Collection[NodeId]
    ) -> None:
        self._racks = {c.node_id: c.rack for c in brokers}
        self._takers = sorted(c.node_id for c in brokers if c.accepts and c.node_id not in leaving)
        self._leaving = leaving
        self._replicas = {c.node_id: c.replicas for c in brokers}
        self._sizes = {c.node_id: c.size for c in brokers}
        self._by_topic: dict[Hashable, Counter[NodeId]] = {}
        for partition in partitions:
            self._by_topic.setdefault(partition.topic, Counter()).update(partition.replicas)

    def replaced(self, partition: Carried) -> tuple[NodeId, ...]:
        replicas = list(partition.replicas)
        for place, node in enumerate(partition.replicas):
            if node not in self._leaving and node not in partition.leaving:
                continue
            others = [each for each in replicas if each not in self._leaving and each not in partition.leaving]
            free = [taker for taker in self._takers if taker not in replicas]
            if not free:
                continue
            topic = self._by_topic[partition.topic]
            chosen = min(free, key=lambda taker: self._cost(taker, others, topic))
            replicas[place] = chosen
            topic[chosen] += 1
            self._replicas[chosen] += 1
            self._sizes[chosen] += partition.size
        return tuple(replicas)

    def _cost(self, node: NodeId, others: list[NodeId], topic: Counter[NodeId]) -> tuple[int, ...]:
        rack = self._racks[node]
        shared = 0 if rack is None else sum(self._racks.get(other) == rack for other in others)
        return shared, topic[node], self._replicas[node], self._sizes[node], node
