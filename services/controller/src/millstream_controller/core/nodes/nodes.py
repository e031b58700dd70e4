"""Membership: registration, heartbeats and departures of brokers and coordinators, as decisions.

A node is fenced from its registration until it has applied the record that fenced it; only unfenced nodes lead, own and are in sync.
Sessions, which are not replicated, are kept by `Sessions`: nothing here knows when a node was last heard.
"""

from dataclasses import replace
from itertools import islice
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.features import unsupported_level
from millstream_cluster.ids import NO_EPOCH, BrokerEpoch, NodeId, Role, role_of
from millstream_cluster.members import Node
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.departures import Departed
from millstream_controller.core.partitions.change import PRESENT, Cause
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.leadership import changes, make_way, take_up
from millstream_controller.core.refusal import DONE, Outcome
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

RECORDS_MAX = 10_000
"""The most records of one decision, so that it fits one append of every store; what is left is decided next."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What a node says about itself when it comes."""

    node_id: int
    cluster_id: str
    incarnation_id: UUID
    listeners: tuple[r.Endpoint, ...]
    rack: str | None
    log_dirs: tuple[UUID, ...] = ()
    features: tuple[r.FeatureRange, ...] = ()
    """What it can do of each feature; release 0.1.0 names none."""
    previous_epoch: BrokerEpoch = NO_EPOCH
    """The broker epoch of its last life, if that ended cleanly."""


@dataclass(frozen=True, slots=True)
class Registered:
    outcome: Outcome
    broker_epoch: BrokerEpoch = NO_EPOCH
    lost_partitions: int = 0
    """How many partitions lost an in-sync copy because the node came back with an empty disk."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    node_id: int
    broker_epoch: int
    metadata_offset: int
    """The last metadata record the node has applied."""
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: tuple[UUID, ...] = ()
    """Directories that failed in this life of the broker."""


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    outcome: Outcome
    caught_up: bool = False
    fenced: bool = True
    should_shut_down: bool = False
    log_went_back: bool = False
    """The node knows more than the log has: either this controller is deposed and does not know it, or the store was put back."""


def register(
    machine: ControllerMachine, wanted: Registration, *, session_live: bool
) -> Decision[r.MetadataRecord, Registered]:
    """Take a node in, fenced, under a new broker epoch.

    The same incarnation may register again at any time: its disk lets only one process run. Another incarnation has to wait
    for the old one's session to end, unless it stands at the same address, where no two processes can be.
    """
    refusal = _refuse(machine, wanted, session_live)
    if refusal is not None:
        return Decision((), Registered(refusal))
    before = machine.image.node(wanted.node_id)
    records: list[r.MetadataRecord] = []
    lost = 0
    if before is not None and before.role is Role.BROKER:
        cause = _end_of(before, wanted)
        electorate = Electorate(machine, without={before.node_id})
        records += islice(changes(machine.kept_by(before.node_id), electorate, cause), RECORDS_MAX)
        lost = len(records) if cause.lost else 0
    if len(records) == RECORDS_MAX:
        outcome = Outcome(ErrorCode.REQUEST_TIMED_OUT, f"node {wanted.node_id} leaves more than {RECORDS_MAX} ISRs")
        return Decision(tuple(records), Registered(outcome, lost_partitions=lost))
    node_id = NodeId(wanted.node_id)
    epoch = BrokerEpoch(machine.next_offset + len(records))
    records.append(_registered(machine, wanted, node_id, epoch))
    return Decision(tuple(records), Registered(DONE, epoch, lost))


def _end_of(before: Node, wanted: Registration) -> Cause:
    """How the life before this one ended: with its disk, without a proof, or cleanly.

    The proof is the epoch of that life. A process whose last registration was taken but never answered does not know that one: it
    proves the life before again, and in between there was none that could have written.
    """
    itself = frozenset({before.node_id})
    if before.incarnation_id != wanted.incarnation_id:
        return Cause(lost=itself)
    never_served = before.fenced and int(before.fenced_offset) == int(before.epoch)
    proven = {before.epoch, before.previous_epoch} if never_served else {before.epoch}
    return PRESENT if wanted.previous_epoch in proven - {NO_EPOCH} else Cause(unclean=itself)


def _registered(
    machine: ControllerMachine, wanted: Registration, node_id: NodeId, epoch: BrokerEpoch
) -> r.NodeRegistered:
    record = r.NodeRegistered(node_id, epoch, wanted.incarnation_id, wanted.listeners, wanted.rack)
    if machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
        return record
    return replace(record, log_dirs=wanted.log_dirs, features=wanted.features, previous_epoch=wanted.previous_epoch)


def _refuse(machine: ControllerMachine, wanted: Registration, session_live: bool) -> Outcome | None:
    image = machine.image
    if wanted.cluster_id != image.cluster_id:
        message = f"node {wanted.node_id} belongs to cluster {wanted.cluster_id}, this is cluster {image.cluster_id}"
        return Outcome(ErrorCode.INCONSISTENT_CLUSTER_ID, message)
    try:
        role = role_of(wanted.node_id)
    except ValueError as error:
        return Outcome(ErrorCode.INVALID_REQUEST, str(error))
    if role is Role.CONTROLLER or not wanted.listeners:
        return Outcome(ErrorCode.INVALID_REQUEST, "brokers and coordinators register, with at least one listener")
    beyond = unsupported_level(image, wanted.features)
    if beyond is not None:
        return Outcome(ErrorCode.UNSUPPORTED_VERSION, f"node {wanted.node_id} does not support {beyond}")
    if len(wanted.log_dirs) > 1 and image.metadata_version < MetadataVersion.RELEASE_0_2:
        message = (
            f"node {wanted.node_id} has {len(wanted.log_dirs)} log directories, of which metadata.version "
            f"{image.metadata_version} knows nothing: start it with one, or raise it to {MetadataVersion.RELEASE_0_2} first"
        )
        return Outcome(ErrorCode.INVALID_REGISTRATION, message)
    before = image.node(wanted.node_id)
    if before is None or before.fenced or not session_live or before.incarnation_id == wanted.incarnation_id:
        return None
    if before.listeners == wanted.listeners:
        return None
    message = f"node id {wanted.node_id} is in use at {before.listeners[0].host}:{before.listeners[0].port}"
    return Outcome(ErrorCode.DUPLICATE_BROKER_REGISTRATION, message)


def heartbeat(machine: ControllerMachine, beat: Heartbeat) -> Decision[r.MetadataRecord, HeartbeatReply]:
    """Unfence a node that has applied its own latest fencing; fence one that wants it or wants to stop.

    A node that has only applied its registration may still act on a state from before it was fenced: what it led or owned
    went to others meanwhile.
    """
    node = machine.image.node(beat.node_id)
    if node is None:
        outcome = Outcome(ErrorCode.BROKER_ID_NOT_REGISTERED, f"node {beat.node_id} is not registered")
        return Decision((), HeartbeatReply(outcome))
    if node.epoch != beat.broker_epoch:
        message = f"node {beat.node_id} has broker epoch {node.epoch}, not {beat.broker_epoch}"
        return Decision((), HeartbeatReply(Outcome(ErrorCode.STALE_BROKER_EPOCH, message)))
    if beat.metadata_offset > machine.image.offset:
        message = (
            f"node {beat.node_id} has metadata up to {beat.metadata_offset}, the log ends at {machine.image.offset}"
        )
        return Decision((), HeartbeatReply(Outcome(ErrorCode.UNKNOWN_SERVER_ERROR, message), log_went_back=True))
    caught_up = beat.metadata_offset >= node.fenced_offset
    gone = frozenset(beat.offline_log_dirs).intersection(node.log_dirs)
    if gone and len(gone) < len(node.log_dirs):
        return Decision(lose_directories(machine, node, gone), HeartbeatReply(DONE, caught_up, node.fenced))
    records: tuple[r.MetadataRecord, ...] = ()
    fenced = node.fenced
    if beat.want_shut_down and not node.fenced:
        records = _make_way(machine, node)
        if records:
            reply = HeartbeatReply(DONE, caught_up, fenced=False)
            return Decision(records, reply, (Departed(node),))
    if beat.want_fence or beat.want_shut_down or gone:
        records = () if node.fenced else fence(machine, node, _reason(beat, all_gone=bool(gone)))
        fenced = node.fenced or _fences(records)
    elif node.fenced and caught_up:
        records = _unfence(machine, node)
        fenced = False
    reply = HeartbeatReply(DONE, caught_up, fenced, should_shut_down=beat.want_shut_down and fenced)
    return Decision(records, reply)


def _reason(beat: Heartbeat, *, all_gone: bool) -> r.FenceReason:
    asked = beat.want_fence or beat.want_shut_down
    return r.FenceReason.NO_DIRECTORY if all_gone and not asked else r.FenceReason.STOPPED


def fence(machine: ControllerMachine, node: Node, reason: r.FenceReason) -> tuple[r.MetadataRecord, ...]:
    """Take the node out of its ISRs and then fence it; of a node that is in very many, only the next part."""
    leaves: tuple[r.MetadataRecord, ...] = ()
    if node.role is Role.BROKER:
        electorate = Electorate(machine, without={node.node_id})
        leaves = tuple(islice(changes(machine.kept_by(node.node_id), electorate), RECORDS_MAX))
    if len(leaves) == RECORDS_MAX:
        return leaves
    if machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
        reason = r.FenceReason.UNKNOWN
    return (*leaves, r.NodeFenced(node.node_id, node.epoch, reason=reason))


def lose_directories(machine: ControllerMachine, node: Node, gone: frozenset[UUID]) -> tuple[r.MetadataRecord, ...]:
    """Take the node out of the ISRs of what it keeps in directories that failed, and then note that they did (KIP-858).

    Of very many partitions only the next part: the broker's next heartbeat names the directories again.
    """
    kept = (each for each in machine.kept_by(node.node_id) if each.directory_of(node.node_id) in gone)
    electorate = Electorate(machine, failed=gone)
    leaves = tuple(islice(changes(kept, electorate), RECORDS_MAX))
    if len(leaves) == RECORDS_MAX:
        return leaves
    left = tuple(directory for directory in node.log_dirs if directory not in gone)
    return (*leaves, r.NodeLogDirsChanged(node.node_id, node.epoch, left, node.failed_log_dirs))


def unregister(machine: ControllerMachine, node_id: int) -> Decision[r.MetadataRecord, Outcome]:
    """Forget a node, and with it which disk was its own: so it leaves every ISR, and may not be the last of one."""
    node = machine.image.node(node_id)
    if node is None:
        message = f"Broker ID {node_id} is not currently registered"
        return Decision((), Outcome(ErrorCode.BROKER_ID_NOT_REGISTERED, message))
    alone = sum({*each.isr, *each.eligible_leader_replicas} == {node_id} for each in machine.kept_by(node_id))
    if alone:
        message = f"broker {node_id} keeps the only in-sync copy of {alone} partition(s): move or delete them first"
        return Decision((), Outcome(ErrorCode.POLICY_VIOLATION, message))
    electorate = Electorate(machine, without={node_id})
    gone = tuple(islice(changes(machine.kept_by(node_id), electorate, Cause(lost=frozenset({node_id}))), RECORDS_MAX))
    if len(gone) == RECORDS_MAX:
        message = (
            f"broker {node_id} was known to more than {RECORDS_MAX} partitions and leaves them in parts: ask again"
        )
        return Decision(gone, Outcome(ErrorCode.REQUEST_TIMED_OUT, message))
    return Decision((*gone, r.NodeUnregistered(node.node_id, node.epoch)), DONE)


def _unfence(machine: ControllerMachine, node: Node) -> tuple[r.MetadataRecord, ...]:
    unfenced = r.NodeUnfenced(node.node_id, node.epoch)
    if node.role is not Role.BROKER:
        return (unfenced,)
    electorate = Electorate(machine, joined_by={node.node_id})
    return (unfenced, *islice(take_up(machine.offline_partitions(), electorate), RECORDS_MAX))


def _make_way(machine: ControllerMachine, node: Node) -> tuple[r.MetadataRecord, ...]:
    """The next part of what a broker that is about to stop leaves while it still answers for what it led."""
    if node.role is not Role.BROKER:
        return ()
    kept = machine.kept_by(node.node_id)
    return tuple(islice(make_way(kept, Electorate(machine), node.node_id), RECORDS_MAX))


def _fences(records: tuple[r.MetadataRecord, ...]) -> bool:
    return bool(records) and isinstance(records[-1], r.NodeFenced)
