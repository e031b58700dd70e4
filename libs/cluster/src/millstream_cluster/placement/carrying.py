"""What each broker carries while a plan for existing partitions is made, and who takes a replica by that."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence

from millstream_cluster.ids import NodeId
from millstream_cluster.placement.candidate import Candidate
from millstream_cluster.placement.moves import Carried


class Carrying:
    """`partitions` are all of the topics that are concerned, and `brokers` all that there are, so that the counts are right."""

    def __init__(
        self, partitions: Iterable[Carried], brokers: Sequence[Candidate], leaving: Collection[NodeId] = ()
    ) -> None:
        self._racks = {c.node_id: c.rack for c in brokers}
        self._takers = sorted(c.node_id for c in brokers if c.accepts and c.node_id not in leaving)
        self._replicas = Counter({c.node_id: c.replicas for c in brokers})
        self._sizes = Counter({c.node_id: c.size for c in brokers})
        self._by_topic: dict[Hashable, Counter[NodeId]] = {}
        for partition in partitions:
            self._by_topic.setdefault(partition.topic, Counter()).update(partition.replicas)

    def take(self, partition: Carried, replicas: Sequence[NodeId], staying: Sequence[NodeId]) -> NodeId | None:
        """Who takes a replica of a partition that has `replicas`, of which `staying` stay; None if nobody is left.

        In a rack that the partition does not use, if there is one, then where there are fewest replicas of the topic, fewest
        in all, and fewest bytes.
        """
        free = [taker for taker in self._takers if taker not in replicas]
        if not free:
            return None
        topic = self._by_topic[partition.topic]
        chosen = min(free, key=lambda taker: self._cost(taker, staying, topic))
        topic[chosen] += 1
        self._replicas[chosen] += 1
        self._sizes[chosen] += partition.size
        return chosen

    def give_up(self, partition: Carried, replicas: Sequence[NodeId]) -> NodeId:
        """Who gives one up: whoever may take nothing, else the other way round; never the preferred leader."""
        topic = self._by_topic[partition.topic]

        def cost(node: NodeId) -> tuple[int, ...]:
            others = [each for each in replicas if each != node]
            return node not in self._takers, *self._cost(node, others, topic)

        chosen = max(replicas[1:], key=cost)
        topic[chosen] -= 1
        self._replicas[chosen] -= 1
        self._sizes[chosen] -= partition.size
        return chosen

    def _cost(self, node: NodeId, others: Sequence[NodeId], topic: Counter[NodeId]) -> tuple[int, ...]:
        rack = self._racks.get(node)
        shared = 0 if rack is None else sum(self._racks.get(other) == rack for other in others)
        return shared, topic[node], self._replicas[node], self._sizes[node], node
