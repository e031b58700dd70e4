"""Where new partitions' replicas go: a pure plan over brokers, racks and what they already carry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_cluster.errors import ClusterError
from millstream_cluster.ids import NodeId


class PlacementError(ClusterError):
    """There are fewer brokers than replicas wanted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broker that may take replicas; `replicas` and `leaders` are what it carries already."""

    node_id: NodeId
    rack: str | None = None
    replicas: int = 0
    leaders: int = 0


def place(partitions: int, replication_factor: int, candidates: Sequence[Candidate]) -> list[tuple[NodeId, ...]]:
    """Plan replicas for new partitions; the first of each is the preferred leader.

    Leaders and replicas go where there are fewest, replicas of one partition to as many racks as there are; ties go to
    the lower id. The same input always gives the same plan, and no broker gets two replicas of a partition.
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

    def take(self, count: int) -> tuple[NodeId, ...]:
        chosen = [min(self._replicas, key=lambda node: (self._leaders[node], self._replicas[node], node))]
        self._leaders[chosen[0]] += 1
        while len(chosen) < count:
            chosen.append(min(self._replicas.keys() - set(chosen), key=lambda node: self._follower_cost(node, chosen)))
        for node in chosen:
            self._replicas[node] += 1
        return tuple(chosen)

    def _follower_cost(self, node: NodeId, chosen: list[NodeId]) -> tuple[int, int, int]:
        rack = self._racks[node]
        shared = 0 if rack is None else sum(self._racks[other] == rack for other in chosen)
        return shared, self._replicas[node], node
