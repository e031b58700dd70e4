"""Replicas for new partitions, planned or given by hand, and CreatePartitions as a decision."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.members import Topic
from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.placement import Candidate, place
from millstream_cluster.quotas.mutation_quota import UNLIMITED, Allowance
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.refusal import DONE, Outcome, Refused, charge
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Growth:
    """A topic that should have `count` partitions in all; `assignments` (None: planned) are for the new ones."""

    topic: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


def create_partitions(
    machine: ControllerMachine,
    wanted: Sequence[Growth],
    *,
    validate_only: bool,
    allowance: Allowance = UNLIMITED,
) -> Decision[r.MetadataRecord, tuple[tuple[str, Outcome], ...]]:
    """Grow those topics that pass every check; an answer per topic."""
    named = Counter(growth.topic for growth in wanted)
    records: list[r.MetadataRecord] = []
    answers: dict[str, Outcome] = {}
    for growth in wanted:
        try:
            if named[growth.topic] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            grown = _grow(machine, growth, RECORDS_MAX - len(records))
            charge(allowance, len(grown))
            records += grown
            answers[growth.topic] = DONE
        except Refused as refused:
            answers[growth.topic] = Outcome.of(refused)
    return Decision(() if validate_only else tuple(records), tuple(answers.items()))


def leaves_some(wanted: Sequence[Growth]) -> bool:
    """Whether the controller has to look at any: not at duplicates."""
    return 1 in Counter(growth.topic for growth in wanted).values()


def _grow(machine: ControllerMachine, growth: Growth, room: int) -> list[r.PartitionCreated]:
    topic = machine.image.topic(growth.topic)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.internal:
        message = f"the partitions of {topic.name} are where groups live: their number cannot change"
        raise Refused(ErrorCode.POLICY_VIOLATION, message)
    have = len(topic.partitions)
    if growth.count == have:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if growth.count < have:
        message = f"The topic {topic.name} currently has {have} partition(s); {growth.count} would not be an increase."
        raise Refused(ErrorCode.INVALID_PARTITIONS, message)
    added = growth.count - have
    if added > room:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    replicas = _replicas_of_growth(machine, topic, growth, added)
    electable = Electorate(machine).electable
    return [first_state(topic.topic_id, have + index, nodes, electable) for index, nodes in enumerate(replicas)]


def _replicas_of_growth(
    machine: ControllerMachine, topic: Topic, growth: Growth, added: int
) -> list[tuple[NodeId, ...]]:
    if growth.assignments is None:
        first = topic.partitions[0]
        factor = len(first.replicas) - len(first.removing_replicas)
        return place_replicas(machine, added, factor, machine.candidates(topic))
    if len(growth.assignments) != added:
        message = (
            f"Attempted to add {added} additional partition(s), "
            f"but only {len(growth.assignments)} assignment(s) were specified."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return check_assignments(growth.assignments, machine)


def first_state(
    topic_id: UUID, number: int, replicas: tuple[NodeId, ...], electable: frozenset[int]
) -> r.PartitionCreated:
    """A new partition: every replica that is there is in sync, because all are empty; the first of them leads."""
    isr = tuple(node for node in replicas if node in electable)
    assert isr, "a partition is created on a broker that is there"
    return r.PartitionCreated(topic_id, number, replicas, isr, isr[0], LeaderEpoch(0), PartitionEpoch(0))


def place_replicas(
    machine: ControllerMachine, partitions: int, factor: int, candidates: Sequence[Candidate]
) -> list[tuple[NodeId, ...]]:
    """Plan replicas on the live brokers first; those that are away get what is left over, and are in sync once they are back.

    So a topic can be created while a broker restarts, as in Kafka. A factor that all brokers together cannot hold is refused.
    """
    away = machine.away()
    if factor > len(candidates) + len(away) or not candidates:
        message = (
            f"Unable to replicate the partition {factor} time(s): "
            f"The target replication factor of {factor} cannot be reached because only {len(candidates) + len(away)} broker(s) "
            "are registered or some brokers have all their log directories cordoned."
        )
        if not candidates:
            message = "All brokers are currently fenced or have all their log directories cordoned."
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    check_factor(machine, factor)
    live = min(factor, len(candidates))
    planned = place(partitions, live, candidates)
    if live == factor:
        return planned
    rest = place(partitions, factor - live, away)
    return [(*here, *there) for here, there in zip(planned, rest, strict=True)]


def check_assignments(assignments: Sequence[tuple[int, ...]], machine: ControllerMachine) -> list[tuple[NodeId, ...]]:
    """Assignments by hand: known brokers, at least one of each partition's live, distinct, as many for each partition."""
    electable = Electorate(machine).electable
    for nodes in assignments:
        wrong = wrong_with(nodes, machine)
        if wrong is not None:
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {wrong}")
        if electable.isdisjoint(nodes):
            message = f"all brokers of assignment {list(nodes)} are fenced or in controlled shutdown"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if len(nodes) != len(assignments[0]):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "all partitions must have as many replicas")
    check_factor(machine, len(assignments[0]))
    return [tuple(NodeId(node) for node in nodes) for nodes in assignments]


def wrong_with(nodes: Sequence[int], machine: ControllerMachine) -> str | None:
    """What cannot be a partition's replicas, as the end of a sentence."""
    if not nodes:
        return "an empty replica list."
    for node, times in sorted(Counter(nodes).items()):
        if node not in machine.image.brokers:
            return f"broker {node}, but no such broker is registered."
        if times > 1:
            return f"the broker {node} more than once."
    return None


def check_factor(machine: ControllerMachine, factor: int) -> None:
    """Nodes of an older release keep one replica of a partition, and read no record of how several are kept."""
    if factor > 1 and machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
        message = (
            f"replication factor {factor}: this cluster's metadata.version is {machine.image.metadata_version}, which knows one "
            f"replica of each partition; raise it to {MetadataVersion.RELEASE_0_2} with kafka-features first"
        )
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
