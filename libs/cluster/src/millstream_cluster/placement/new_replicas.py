"""Replicas for new partitions."""

from collections import Counter
from collections.abc import Sequence

from millstream_cluster.ids import NodeId
from millstream_cluster.placement.candidate import Candidate, PlacementError
from millstream_cluster.placement.ring import Ring


def place(partitions: int, replication_factor: int, candidates: Sequence[Candidate]) -> list[tuple[NodeId, ...]]:
    """Plan replicas for new partitions on candidates that all accept them; the first of each is the preferred leader.

    A topic is spread first: its leaders, and then its replicas, are as even between brokers as can be, whatever other
    topics there are, so that no topic's traffic lands on one broker because that broker is new and empty. Where that leaves
    a choice, they go where there are fewest of all topics. Replicas of one partition go to as many racks as there are.

    Further ties are broken round a ring of the brokers' ids, where every leader goes on behind its last follower: so many
    brokers follow it, and share out what it leads when it fails.
    The same input always gives the same plan, and no broker gets two replicas of a partition.
    """
    if replication_factor < 1 or replication_factor > len(candidates):
        raise PlacementError(
            f"the replication factor is {replication_factor} and there are {len(candidates)} live brokers"
        )
    load = _Load(sorted(candidates, key=lambda candidate: candidate.node_id))
    return [load.take(replication_factor) for _ in range(partitions)]


class _Load:
    """What each broker carries while a plan is made; brokers are known by their position among the sorted ids."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        self._racks = [c.rack for c in candidates]
        self._rack_sizes = Counter(rack for rack in self._racks if rack is not None)
        self._without_rack = self._racks.count(None)
        self._replicas = [c.replicas for c in candidates]
        self._leaders = [c.leaders for c in candidates]
        self._topic_replicas = [c.topic_replicas for c in candidates]
        self._topic_leaders = [c.topic_leaders for c in candidates]
        self._next_of = [position + 1 + c.leaders for position, c in enumerate(candidates)]
        """Where on the ring a leader's next follower is looked for first."""
        self._to_lead = Ring()
        self._to_follow = Ring()
        for position in range(len(candidates)):
            self._put(position)

    def take(self, count: int) -> tuple[NodeId, ...]:
        leader = self._to_lead.least(0, lambda _: True)
        assert leader is not None, "there are as many candidates as replicas"
        chosen = [leader]
        used = Counter([self._racks[leader]])
        while len(chosen) < count:
            chosen.append(self._next(chosen, used, leader))
            used[self._racks[chosen[-1]]] += 1
        if count > 1:
            self._next_of[leader] = chosen[1] + 1
        self._leaders[leader] += 1
        self._topic_leaders[leader] += 1
        for position in chosen:
            self._replicas[position] += 1
            self._topic_replicas[position] += 1
            self._put(position)
        return tuple(self._candidates[position].node_id for position in chosen)

    def _next(self, chosen: list[int], used: Counter[str | None], leader: int) -> int:
        shared = self._least_shared(len(chosen), used)

        def fits(position: int) -> bool:
            rack = self._racks[position]
            return position not in chosen and (rack is None or used[rack] <= shared)

        found = self._to_follow.least(self._next_of[leader] % len(self._candidates), fits)
        assert found is not None, "there are as many candidates as replicas"
        return found

    def _least_shared(self, chosen: int, used: Counter[str | None]) -> int:
        """How many of the chosen ones the next has to share its rack with, at the least."""
        if used[None] < self._without_rack or len(self._rack_sizes) > len(used) - (None in used):
            return 0
        return min((used[rack] for rack, size in self._rack_sizes.items() if used[rack] < size), default=0)

    def _put(self, position: int) -> None:
        leads = (self._topic_leaders[position], self._leaders[position], self._replicas[position])
        self._to_lead.put(position, leads)
        self._to_follow.put(position, (self._topic_replicas[position], self._replicas[position]))
