"""Replicas for new partitions, planned or given by hand, and CreatePartitions as a decision."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.members import Topic
from millstream_cluster.placement import Candidate, place
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes import RECORDS_MAX, live_brokers
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Growth:
    """A topic that should have `count` partitions in all; `assignments` (None: planned) are for the new ones."""

    topic: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


def create_partitions(
    machine: ControllerMachine, wanted: Sequence[Growth], *, validate_only: bool
) -> Decision[r.MetadataRecord, tuple[tuple[str, Outcome], ...]]:
    """Grow those topics that pass every check; an answer per topic."""
    named = Counter(growth.topic for growth in wanted)
    records: list[r.MetadataRecord] = []
    answers: dict[str, Outcome] = {}
    for growth in wanted:
        try:
            if named[growth.topic] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names this topic more than once")
            records += _grow(machine, growth, RECORDS_MAX - len(records))
            answers[growth.topic] = DONE
        except Refused as refused:
            answers[growth.topic] = Outcome.of(refused)
    return Decision(() if validate_only else tuple(records), tuple(answers.items()))


def _grow(machine: ControllerMachine, growth: Growth, room: int) -> list[r.PartitionCreated]:
    topic = machine.image.topic(growth.topic)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {growth.topic!r} does not exist")
    if topic.internal:
        message = f"the partitions of {topic.name} are where groups live: their number cannot change"
        raise Refused(ErrorCode.POLICY_VIOLATION, message)
    have = len(topic.partitions)
    if growth.count <= have:
        message = f"The topic currently has {have} partition(s); {growth.count} would not be an increase."
        raise Refused(ErrorCode.INVALID_PARTITIONS, message)
    added = growth.count - have
    if added > room:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"one request may create at most {RECORDS_MAX} partitions")
    replicas = _replicas_of_growth(machine, topic, growth, added)
    return [first_state(topic.topic_id, have + index, nodes) for index, nodes in enumerate(replicas)]


def _replicas_of_growth(
    machine: ControllerMachine, topic: Topic, growth: Growth, added: int
) -> list[tuple[NodeId, ...]]:
    if growth.assignments is None:
        return place_replicas(added, len(topic.partitions[0].replicas), machine.candidates())
    if len(growth.assignments) != added:
        message = f"{added} partitions are to be added and {len(growth.assignments)} are assigned"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return check_assignments(growth.assignments, machine)


def first_state(topic_id: UUID, number: int, replicas: tuple[NodeId, ...]) -> r.PartitionCreated:
    """A new partition: every replica is in sync, because all are empty."""
    return r.PartitionCreated(topic_id, number, replicas, replicas, replicas[0], LeaderEpoch(0), PartitionEpoch(0))


def place_replicas(partitions: int, factor: int, candidates: Sequence[Candidate]) -> list[tuple[NodeId, ...]]:
    """Plan replicas on the live brokers; a factor that they cannot hold is refused."""
    if factor > len(candidates):
        message = (
            f"Unable to replicate the partition {factor} time(s): "
            f"The target replication factor of {factor} cannot be reached because only {len(candidates)} broker(s) are live."
        )
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    _check_factor(factor)
    return place(partitions, factor, candidates)


def check_assignments(assignments: Sequence[tuple[int, ...]], machine: ControllerMachine) -> list[tuple[NodeId, ...]]:
    """Assignments by hand: known and live brokers, distinct, as many for each partition."""
    live = live_brokers(machine)
    for nodes in assignments:
        if not nodes or len(set(nodes)) != len(nodes):
            message = f"assignment {list(nodes)} must name at least one broker, and none twice"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        unknown = [node for node in nodes if node not in machine.image.brokers]
        if unknown:
            message = f"assignment {list(nodes)} names brokers that are not registered: {unknown}"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if not live.intersection(nodes):
            message = f"all brokers of assignment {list(nodes)} are fenced"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if len(nodes) != len(assignments[0]):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "all partitions must have as many replicas")
    _check_factor(len(assignments[0]))
    return [tuple(NodeId(node) for node in nodes) for nodes in assignments]


def _check_factor(factor: int) -> None:
    if factor > 1:
        message = f"replication factor {factor}: this release keeps one replica of each partition"
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
