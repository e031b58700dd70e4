"""Another replication factor, or other brokers, for a topic that is there. Pure.

Where a replica goes is the placement library's decision; the controller carries the moves out, and takes no copy away before
another is in sync. First as many replicas as wanted, then those that are in the wrong place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millstream_cluster.ids import NodeId
from millstream_cluster.placement import Candidate, PlacementError, resize
from millstream_cluster.placement import replace as replacements
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.scale import Key, View, candidates, carried
from millstream_operator.plan.topic import MoveReplicas, WantedTopic


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    step: MoveReplicas | None = None
    copied_bytes: int = 0
    moving: int = 0
    """Partitions that are on the move already: nothing is planned until they have arrived."""
    refusal: Condition | None = None


def plan_replicas(wanted: WantedTopic, view: View) -> ReplicaPlan:
    mine = [each for each in view.partitions if each.topic == wanted.name]
    moving = sum(each.is_moving for each in mine)
    if moving:
        return ReplicaPlan(moving=moving)
    brokers = [_allowed(each, wanted) for each in candidates(view, frozenset())]
    here = [each for each in carried(view) if each.topic == wanted.name]
    unknown = wanted.brokers - {each.node_id for each in brokers}
    if unknown:
        return _refused(f"no broker {', '.join(map(str, sorted(unknown)))} in the cluster")
    try:
        moves = list(resize(here, brokers, wanted.replication_factor)) if wanted.replication_factor else []
    except PlacementError as error:
        return _refused(str(error))
    if not moves and wanted.brokers:
        outside = [replace(each, leaving=frozenset(each.replicas) - _ids(wanted)) for each in here]
        moves = list(replacements(outside, brokers, ()))
        after = {each.key: each.replicas for each in outside} | {move.key: move.replicas for move in moves}
        stay = [key for key, replicas in after.items() if not _ids(wanted).issuperset(replicas)]
        if stay:
            return _refused(f"{len(stay)} partitions have more replicas than brokers {sorted(wanted.brokers)} may take")
    planned = {_key(move.key): tuple(move.replicas) for move in moves}
    before = {(each.topic, each.index): set(each.replicas) for each in mine}
    copied = sum(view.sizes.get(key, 0) * len(set(replicas) - before[key]) for key, replicas in planned.items())
    return ReplicaPlan(MoveReplicas(planned) if planned else None, copied)


def _allowed(broker: Candidate, wanted: WantedTopic) -> Candidate:
    is_allowed = not wanted.brokers or broker.node_id in wanted.brokers
    return replace(broker, accepts=broker.accepts and is_allowed)


def _refused(message: str) -> ReplicaPlan:
    return ReplicaPlan(refusal=Condition("Ready", False, "InvalidReplicationFactor", message))


def _ids(wanted: WantedTopic) -> frozenset[NodeId]:
    return frozenset(map(NodeId, wanted.brokers))


def _key(key: object) -> Key:
    assert isinstance(key, tuple)
    return key


def movement_fields(plan: ReplicaPlan, bytes_per_second: int | None) -> Mapping[str, int]:
    fields = {"partitions": len(plan.step.replicas) if plan.step else 0, "bytes": plan.copied_bytes}
    return fields | ({"seconds": plan.copied_bytes // bytes_per_second} if bytes_per_second else {})
