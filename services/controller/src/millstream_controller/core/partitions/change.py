"""The next state of a partition, whatever changes it: the one place where the rules of ISR, ELR, leader and epochs stand.

Somebody comes or goes, a leader proposes an ISR, a replica moves, a person asks for an election, a config changes: each of these
is a `Cause`, and `next_state` says what follows from it. Nothing here knows why.

- The ISR has live brokers only. Who leaves one that is then below min.insync.replicas is still known to have all that is
  committed, because nothing is committed below it: it enters the ELR (KIP-966), and leaves that when the ISR has grown again.
- Who stopped without a proof may have lost what it had: it leaves both, and the leader epoch rises, so that a leader
  forgets how far that copy once was.
- A leader comes from the ISR, else from the ELR; both are clean. Where both are empty the last leader is the best copy that is
  known of, and is elected as soon as it is back. Another one only if a person or the topic's config accepts the loss.
- A single replica stays in sync whatever happens to its broker: there is nobody to be out of sync with. Only a lost copy leaves.
"""

from dataclasses import dataclass, replace
from enum import Enum
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, LeaderEpoch, NodeId
from millstream_cluster.members import Partition
from millstream_controller.core.partitions.completion import completed
from millstream_controller.core.partitions.electorate import Electorate

Nodes = tuple[NodeId, ...]
NOBODY: frozenset[int] = frozenset()
UNASSIGNED = UUID(int=0)
"""A directory that a broker has still to choose: Kafka's reserved id."""


class Election(Enum):
    """What a cause asks of the leadership."""

    IF_NEEDED = "if needed"
    PREFERRED = "preferred"
    """The first replica, if it is in sync."""
    UNCLEAN = "unclean"
    """Rather somebody out of sync than nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What is to be different; everything that is not named stays as it is."""

    isr: Nodes | None = None
    replicas: Nodes | None = None
    adding_replicas: Nodes | None = None
    removing_replicas: Nodes | None = None
    leaving: frozenset[int] = NOBODY
    """Who goes while it is still live: out of the ISR, to the ELR if need be."""
    unclean: frozenset[int] = NOBODY
    """Whose last life ended without a proof that all it had is on its disk."""
    lost: frozenset[int] = NOBODY
    """Whose copy is gone."""
    election: Election = Election.IF_NEEDED
    recovered: bool = False
    """The leader that was elected uncleanly has finished its recovery (KIP-704)."""


PRESENT = Cause()
"""No cause but who is live now."""


def next_state(partition: Partition, electorate: Electorate, cause: Cause = PRESENT) -> r.PartitionChanged | None:
    """The record of the partition's next state; None if it is as it should be."""
    draft = _moved(partition, electorate, cause)
    leader, clean = _elected(draft, electorate, cause.election)
    isr = draft.isr
    if leader not in (NO_NODE, *isr):
        isr = (leader, *isr) if clean else (leader,)
    draft = replace(draft, isr=isr, leader=leader)
    if not clean or len(isr) >= min(electorate.min_isr(partition.topic), len(draft.replicas)):
        draft = replace(draft, eligible_leader_replicas=(), last_known_elr=())
    else:
        draft = _with_eligible(partition, draft, cause)
    if not clean and len(draft.replicas) > 1:
        draft = replace(draft, leader_recovery_state=r.LeaderRecoveryState.RECOVERING)
    elif cause.recovered:
        draft = replace(draft, leader_recovery_state=r.LeaderRecoveryState.RECOVERED)
    if _is_new_epoch(partition, draft, cause):
        draft = replace(draft, leader_epoch=LeaderEpoch(partition.leader_epoch + 1))
    return None if draft == partition else draft.changed()


def _moved(partition: Partition, electorate: Electorate, cause: Cause) -> Partition:
    """The partition as it is before anybody is elected: with its next replicas, ISR and those who are eligible beside it."""
    replicas = _or(cause.replicas, partition.replicas)
    adding = _or(cause.adding_replicas, partition.adding_replicas)
    removing = _or(cause.removing_replicas, partition.removing_replicas)
    isr = _in_sync(partition, replicas, electorate, cause)
    if adding or removing:
        end = completed(replicas, adding, removing, isr, min_isr=electorate.min_isr(partition.topic))
        if end is not None:
            replicas, isr = end
            adding = removing = ()
    draft = replace(partition, replicas=replicas, isr=isr, adding_replicas=adding, removing_replicas=removing)
    if partition.directories:
        known = dict(zip(partition.replicas, partition.directories, strict=True))
        draft = replace(draft, directories=tuple(known.get(node, UNASSIGNED) for node in replicas))
    return _with_eligible(partition, draft, cause)


def _or(wanted: Nodes | None, present: Nodes) -> Nodes:
    return present if wanted is None else wanted


def _in_sync(partition: Partition, replicas: Nodes, electorate: Electorate, cause: Cause) -> Nodes:
    wanted = partition.isr if cause.isr is None or set(cause.isr) == set(partition.isr) else cause.isr
    kept = tuple(node for node in wanted if node in replicas and node not in cause.lost)
    if len(replicas) == 1:
        return kept
    gone = cause.unclean | cause.leaving
    return tuple(node for node in kept if node in electorate.live and node not in gone)


def _with_eligible(partition: Partition, draft: Partition, cause: Cause) -> Partition:
    """The ELR: who is not in the new ISR and has all that was committed, as long as nothing is committed without them."""
    away = cause.lost if len(draft.replicas) == 1 else cause.lost | cause.unclean
    known = {*partition.isr, *partition.eligible_leader_replicas} - {*draft.isr} - away
    elr = tuple(node for node in draft.replicas if node in known)
    return replace(draft, eligible_leader_replicas=elr, last_known_elr=_last_known(partition, draft, elr, cause))


def _last_known(partition: Partition, draft: Partition, elr: Nodes, cause: Cause) -> Nodes:
    """Whom the ELR lost by unclean stops; without an ISR the last leader alone, the best copy that is known of."""
    last: set[NodeId]
    if draft.isr:
        last = {*partition.last_known_elr, *partition.eligible_leader_replicas, *partition.isr} - {*draft.isr, *elr}
    elif partition.isr:
        last = {partition.isr[0] if partition.leader == NO_NODE else partition.leader}
    else:
        last = {*partition.last_known_elr}
    return tuple(node for node in draft.replicas if node in last and node not in cause.lost)


def _elected(draft: Partition, electorate: Electorate, election: Election) -> tuple[NodeId, bool]:
    """Who leads, and whether that is clean: whether the leader has all that was committed."""
    able = [node for node in draft.replicas if node in electorate.electable]
    in_sync = [node for node in able if node in draft.isr]
    if election is Election.PREFERRED and draft.replicas[0] in in_sync:
        return draft.replicas[0], True
    if draft.leader in in_sync:
        return draft.leader, True
    clean = in_sync or [node for node in able if node in draft.eligible_leader_replicas]
    if clean:
        return clean[0], True
    if draft.leader in draft.isr and draft.leader in electorate.live:
        return draft.leader, True  # it stops soon, and nobody could take over
    if electorate.live.isdisjoint(draft.isr):
        last = () if draft.isr or draft.eligible_leader_replicas else draft.last_known_elr
        accepted = election is Election.UNCLEAN or electorate.elects_unclean(draft.topic)
        unclean = [node for node in able if node in last] or (able if accepted else [])
        if unclean:
            return unclean[0], False
    return NO_NODE, True


def _is_new_epoch(partition: Partition, draft: Partition, cause: Cause) -> bool:
    """A leader's knowledge of its followers is good for one epoch: it ends with a leader, with a copy, and with a replica."""
    had = {*partition.isr, *partition.eligible_leader_replicas} - {*draft.isr}
    return (
        draft.leader != partition.leader
        or not had.isdisjoint(cause.unclean | cause.lost)
        or not set(partition.replicas) <= set(draft.replicas)
    )
