"""AlterPartitionReassignments as a decision (KIP-455): where replicas go, what a second request changes, and the way back.

While a partition is on the move it has the replicas of its target, in their order, and behind them those that leave.
`adding_replicas` are those it did not have when the move began, so that a cancel finds its way back also after the target was
replaced by another one; who is in both lists came with an earlier target and leaves again. What is not in sync counts for nothing, and the
record that ends the move (`completion.py`) is the only one that takes away what was there before it.
"""

from collections.abc import Sequence

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import NodeId
from millstream_cluster.members import Partition
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.change import Cause, Election, next_state
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.new_partitions import wrong_with
from millstream_controller.core.refusal import DONE, Outcome, Refused
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

Nodes = tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """Where a partition's replicas should be; None: cancel the move that is under way."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


def alter_reassignments(
    machine: ControllerMachine, moves: Sequence[Move], *, may_change_factor: bool
) -> Decision[r.MetadataRecord, tuple[Outcome, ...]]:
    """Begin, replace and cancel moves: an answer for each. Of a partition that is named twice, the second sees the first."""
    electorate = Electorate(machine)
    records: list[r.MetadataRecord] = []
    latest: dict[tuple[str, int], Partition] = {}
    outcomes = []
    for move in moves:
        try:
            partition = latest.get((move.topic, move.partition)) or _find(machine, move)
            if move.replicas is None:
                change = cancelled(partition, electorate)
            else:
                target = _checked(machine, partition, move.replicas, may_change_factor=may_change_factor)
                change = reassigned(partition, target, electorate)
            if change is not None:
                _check_room(machine, change, len(records))
                records.append(change)
                latest[move.topic, move.partition] = Partition.of(change, move.topic)
            outcomes.append(DONE)
        except Refused as refused:
            outcomes.append(Outcome.of(refused))
    return Decision(tuple(records), tuple(outcomes))


def target_of(partition: Partition) -> Nodes:
    """The replicas that the partition has once it is not on the move any more."""
    return tuple(node for node in partition.replicas if node not in partition.removing_replicas)


def original_of(partition: Partition) -> Nodes:
    """The replicas that it had before; their order is not known any more."""
    return tuple(node for node in partition.replicas if node not in partition.adding_replicas)


def reassigned(partition: Partition, target: Nodes, electorate: Electorate) -> r.PartitionChanged | None:
    """On the way to the target; already there if that is in sync, or is another order of the same replicas. None: nothing changes."""
    original = original_of(partition)
    leaving = tuple(sorted(set(partition.replicas) - set(target)))
    replicas = (*target, *leaving)
    cause = Cause(
        replicas=replicas,
        adding_replicas=tuple(sorted(set(replicas) - set(original))),
        removing_replicas=leaving,
    )
    return next_state(partition, electorate, cause)


def cancelled(
    partition: Partition, electorate: Electorate, *, original: Nodes | None = None
) -> r.PartitionChanged | None:
    """Back where it was; `original` knows the order of the replicas then. None: it is on its way there already.

    What was added goes at once where it is not needed. If without it fewer were left in the ISR and the ELR than min.insync.replicas
    asks for, it may have what was acknowledged and hardly anybody else has: then the move goes back as it came, and that copy leaves in the end.
    """
    if not partition.adding_replicas and not partition.removing_replicas:
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    before = original or original_of(partition)
    if not before:
        raise _invalid("Invalid replica assignment: addingReplicas contains all replicas.")
    isr = tuple(node for node in partition.isr if node in before)
    election = Election.IF_NEEDED
    if not isr:
        if not electorate.elects_unclean(partition.topic):
            name = f"{partition.topic}:{partition.partition}"
            why = "because it would require an unclean leader election."
            raise _invalid(f"Unable to revert partition assignment for {name} {why}")
        election = Election.UNCLEAN
    elif _needs_the_added(partition, before, electorate.min_isr(partition.topic)):
        return reassigned(partition, before, electorate)
    cause = Cause(isr=isr, replicas=before, adding_replicas=(), removing_replicas=(), election=election)
    return next_state(partition, electorate, cause)


def _needs_the_added(partition: Partition, before: Nodes, min_isr: int) -> bool:
    good = {*partition.isr, *partition.eligible_leader_replicas}
    return len(good.intersection(before)) < min(min_isr, len(before), len(good))


def _find(machine: ControllerMachine, move: Move) -> Partition:
    if machine.image.topic(move.topic) is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {move.topic}.")
    partition = machine.image.partition(move.topic, move.partition)
    if partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {move.topic}:{move.partition}.")
    return partition


def _checked(
    machine: ControllerMachine, partition: Partition, target: tuple[int, ...], *, may_change_factor: bool
) -> Nodes:
    wrong = wrong_with(target, machine)
    if wrong is not None:
        raise _invalid(f"The manual partition assignment includes {wrong}")
    factor = len(target_of(partition))
    if not may_change_factor and len(target) != factor:
        message = f"The replication factor is changed from {factor} to {len(target)}"
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    return tuple(NodeId(node) for node in target)


def _check_room(machine: ControllerMachine, change: r.PartitionChanged, before: int) -> None:
    level = machine.image.metadata_version
    if (change.adding_replicas or change.removing_replicas) and level < MetadataVersion.RELEASE_0_2:
        message = (
            f"replicas move from metadata.version {MetadataVersion.RELEASE_0_2} on and this cluster's is {level}: "
            "raise it with kafka-features first"
        )
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, message)
    if before == RECORDS_MAX:
        raise Refused(ErrorCode.POLICY_VIOLATION, f"one request moves at most {RECORDS_MAX} partitions")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
