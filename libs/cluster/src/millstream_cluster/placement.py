"""Where new partitions' replicas go: a pure plan over brokers, racks and what they already carry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_cluster.errors import ClusterError
from millstream_cluster.ids import NodeId


class PlacementError(ClusterError):
    """There are fewer brokers than replicas wanted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broker that may take replicas, with what it carries already."""

    node_id: NodeId
    rack: str | None = None
    replicas: int = 0
    leaders: int = 0
    """Partitions, of all topics, of which it is the preferred leader."""
    topic_replicas: int = 0
    topic_leaders: int = 0
    """As above, of the topic alone that the new partitions are for: they join what a topic that grows has already."""


def place(partitions: int, replication_factor: int, candidates: Sequence[Candidate]) -> list[tuple[NodeId, ...]]:
    """Plan replicas for new partitions; the first of each is the preferred leader.

    A topic is spread first: its leaders, and then its replicas, differ by at most one between brokers, whatever other
    topics there are, so that no topic's traffic lands on one broker because that broker is new and empty. Where that leaves
    a choice, they go where there are fewest of all topics; ties go to the lower id. Replicas of one partition go to as
    many racks as there are. The same input always gives the same plan, and no broker gets two replicas of a partition.
    """
    if replication_factor < 1 or replication_factor > len(candidates):
        raise PlacementError(
            f"the replication factor is {replication_factor} and there are {len(candidates)} live brokers"
        )
    load = _Load(candidates)
    return [load.take(replication_factor) for _ in range(partitions)]


class _Load:
    """What each broker carries while a plan is made."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._racks: Mapping[NodeId, str | None] = {c.node_id: c.rack for c in candidates}
        self._replicas = {c.node_id: c.replicas for c in candidates}
        self._leaders = {c.node_id: c.leaders for c in candidates}
        self._topic_replicas = {c.node_id: c.topic_replicas for c in candidates}
        self._topic_leaders = {c.node_id: c.topic_leaders for c in candidates}

    def take(self, count: int) -> tuple[NodeId, ...]:
        chosen = [min(self._replicas, key=self._leader_cost)]
        self._leaders[chosen[0]] += 1
        self._topic_leaders[chosen[0]] += 1
        while len(chosen) < count:
            chosen.append(min(self._replicas.keys() - set(chosen), key=lambda node: self._follower_cost(node, chosen)))
        for node in chosen:
            self._replicas[node] += 1
            self._topic_replicas[node] += 1
        return tuple(chosen)

    def _leader_cost(self, node: NodeId) -> tuple[int, int, int, int]:
        return self._topic_leaders[node], self._leaders[node], self._replicas[node], node

    def _follower_cost(self, node: NodeId, chosen: list[NodeId]) -> tuple[int, int, int, int]:
        rack = self._racks[node]
        shared = 0 if rack is None else sum(self._racks[other] == rack for other in chosen)
        return shared, self._topic_replicas[node], self._replicas[node], node
