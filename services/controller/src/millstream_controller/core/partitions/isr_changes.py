"""AlterPartition as a decision: what a leader proposes for the ISRs of its partitions, checked as Kafka checks it.

A leader knows who keeps up with it; only the controller knows who is a member, in which life, and what was decided meanwhile. So a
proposal names the state that it starts from, by epochs, and is refused whenever that is not the present one.

A refusal is final: its leader commits without whom it would have let in. So one that would be no refusal any more once a member is
back ends the state that it was made for, and a copy of the request that was long under way finds another one.
"""

from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import NO_EPOCH, NodeId
from millstream_cluster.members import Partition
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.change import Cause, next_state
from millstream_controller.core.partitions.electorate import Electorate
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

RECOVERED, RECOVERING = 0, 1
"""Leader recovery states as the protocol numbers them."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An ISR, and the state of the partition that it is proposed for."""

    topic_id: UUID
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    """Members and the broker epochs in which they fetched; NO_EPOCH: not known."""
    recovery: int = RECOVERED
    resigns: bool = False
    """The leader asks for another one, and to be out of sync: its log refuses appends."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """What one leader proposes at a time."""

    node_id: int
    broker_epoch: int
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one proposal; `state` is the partition's from now on where it was taken."""

    proposal: Proposal
    error: ErrorCode
    state: Partition | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    error: ErrorCode
    verdicts: tuple[Verdict, ...] = ()


def alter_partitions(machine: ControllerMachine, wanted: Proposals) -> Decision[r.MetadataRecord, Judged]:
    """Take those proposals that start from the present state; a verdict for each."""
    node = machine.image.brokers.get(wanted.node_id)
    if node is None or node.epoch != wanted.broker_epoch:
        return Decision((), Judged(ErrorCode.STALE_BROKER_EPOCH))
    electorate = Electorate(machine)
    changes: dict[tuple[UUID, int], r.PartitionChanged] = {}
    verdicts = []
    for proposal in wanted.proposals:
        key = (proposal.topic_id, proposal.partition)
        if key in changes:
            verdicts.append(Verdict(proposal, ErrorCode.INVALID_REQUEST))
            continue
        partition = machine.image.partition(*key)
        error = _wrong_with(machine, electorate, wanted.node_id, proposal, partition)
        if error is ErrorCode.INELIGIBLE_REPLICA and partition is not None:
            changes[key] = partition.changed()
        if error is not ErrorCode.NONE or partition is None:
            verdicts.append(Verdict(proposal, error))
            continue
        change = next_state(partition, electorate, _cause(wanted.node_id, proposal))
        if change is not None and len(changes) == RECORDS_MAX:
            verdicts.append(Verdict(proposal, ErrorCode.OPERATION_NOT_ATTEMPTED))
            continue
        if change is not None:
            changes[key] = change
        verdicts.append(_verdict(proposal, partition, change))
    return Decision(tuple(changes.values()), Judged(ErrorCode.NONE, tuple(verdicts)))


def _cause(leader: int, proposal: Proposal) -> Cause:
    if proposal.resigns:
        return Cause(leaving=frozenset({leader}))
    isr = tuple(NodeId(node_id) for node_id, _ in proposal.isr)
    return Cause(isr=isr, recovered=proposal.recovery == RECOVERED)


def _verdict(proposal: Proposal, partition: Partition, change: r.PartitionChanged | None) -> Verdict:
    """Kafka's one error that comes with a record: another one leads, because a move is complete, or the leader asked for it."""
    state = partition if change is None else Partition.of(change, partition.topic)
    if state.leader != partition.leader:
        return Verdict(proposal, ErrorCode.NEW_LEADER_ELECTED)
    return Verdict(proposal, ErrorCode.NONE, state)


def _wrong_with(
    machine: ControllerMachine, electorate: Electorate, node_id: int, proposal: Proposal, partition: Partition | None
) -> ErrorCode:
    if partition is None:
        known = machine.image.topic(proposal.topic_id) is not None
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known else ErrorCode.UNKNOWN_TOPIC_ID
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # who proposes knows more than we do: another controller is active
    if proposal.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if partition.leader != node_id:
        return ErrorCode.INVALID_REQUEST
    if proposal.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    members = [member for member, _ in proposal.isr]
    if len(set(members)) < len(members) or not {node_id} <= set(members) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    recovers = partition.leader_recovery_state is r.LeaderRecoveryState.RECOVERING
    if proposal.recovery == RECOVERING and (len(members) > 1 or not recovers):
        return ErrorCode.INVALID_REQUEST
    if proposal.recovery not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if proposal.resigns:
        another = not electorate.electable.isdisjoint(set(partition.isr) - {node_id})
        return ErrorCode.NONE if another else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    for member, epoch in proposal.isr:
        if member != node_id and not electorate.may_join(member, partition):
            return ErrorCode.INELIGIBLE_REPLICA
        if epoch not in (NO_EPOCH, machine.image.nodes[member].epoch):
            return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE
