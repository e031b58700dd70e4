"""The next state of a partition, whatever changes it: the one place where the rules of ISR, ELR, leader and epochs stand.

Somebody comes or goes, a leader proposes an ISR, a replica moves, a person asks for an election, a config changes: each of these
is a `Cause`, and `next_state` says what follows from it. Nothing here knows why.

- The ISR has live brokers only. Who leaves one that is then below min.insync.replicas is still known to have all that is
  committed, because nothing is committed below it: it enters the ELR (KIP-966), and leaves that when the ISR has grown again.
- Who stopped without a proof may have lost what it had: it leaves both, and the leader epoch rises, so that a leader
  forgets how far that copy once was.
- A leader comes from the ISR, else from the ELR; both are clean. Where both are empty the last leader is the best copy that is
  known of, and is elected as soon as it is back. Another one only if a person or the topic's config accepts the loss.
- A replica in a directory that has failed is away like one whose broker is fenced (KIP-858).
- A single replica stays in sync whatever happens to its broker: there is nobody to be out of sync with. Only a lost copy leaves.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, UNASSIGNED_DIRECTORY, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.members import Partition
from millstream_controller.core.partitions.completion import completed
from millstream_controller.core.partitions.electorate import Electorate
from millstream_wire.late_dataclass import dataclass

Nodes = tuple[NodeId, ...]
NOBODY: frozenset[int] = frozenset()
NOWHERE: Mapping[NodeId, UUID] = MappingProxyType({})


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
    directories: Mapping[NodeId, UUID] = field(default_factory=dict)
    """Where brokers say that they keep their replicas."""
    recovered: bool = False
    """The leader that was elected uncleanly has finished its recovery (KIP-704)."""


PRESENT = Cause()
"""No cause but who is live now."""


def next_state(partition: Partition, electorate: Electorate, cause: Cause = PRESENT) -> r.PartitionChanged | None:
    """The record of the partition's next state; None if it is as it should be."""
    draft = _Draft(partition)
    draft.move(electorate, cause)
    draft.find_eligible(cause)
    clean = draft.elect(electorate, cause.election)
    if draft.leader not in (NO_NODE, *draft.isr):
        draft.isr = (draft.leader, *draft.isr) if clean else (draft.leader,)
        draft.find_eligible(cause)
    if not clean or len(draft.isr) >= min(electorate.min_isr(partition.topic), len(draft.replicas)):
        draft.elr = draft.last_known = ()
    if not clean and len(draft.replicas) > 1:
        draft.recovery = r.LeaderRecoveryState.RECOVERING
    elif cause.recovered:
        draft.recovery = r.LeaderRecoveryState.RECOVERED
    return draft.change(cause)


class _Draft:
    """The next state of a partition in the making; what nobody has touched is as it was."""

    __slots__ = (
        "adding",
        "before",
        "directories",
        "electable",
        "elr",
        "isr",
        "last_known",
        "leader",
        "live",
        "recovery",
        "removing",
        "replicas",
    )

    def __init__(self, before: Partition) -> None:
        self.before = before
        self.replicas = before.replicas
        self.isr = before.isr
        self.leader = before.leader
        self.adding = before.adding_replicas
        self.removing = before.removing_replicas
        self.elr = before.eligible_leader_replicas
        self.last_known = before.last_known_elr
        self.recovery = before.leader_recovery_state
        self.directories: Mapping[NodeId, UUID] = NOWHERE
        self.live = self.electable = NOBODY

    def move(self, electorate: Electorate, cause: Cause) -> None:
        """Put the replicas and the ISR where they are before anybody is elected."""
        if cause.replicas is not None:
            self.replicas = cause.replicas
        if cause.adding_replicas is not None:
            self.adding = cause.adding_replicas
        if cause.removing_replicas is not None:
            self.removing = cause.removing_replicas
        self._find_directories(cause)
        away = electorate.in_failed_directories(self.directories)
        self.live, self.electable = electorate.live - away, electorate.electable - away
        self.isr = self._in_sync(cause)
        if self.adding or self.removing:
            end = completed(self.replicas, self.adding, self.removing, self.isr)
            if end is not None:
                self.replicas, self.isr = end
                self.adding = self.removing = ()

    def _find_directories(self, cause: Cause) -> None:
        """Whose copy is gone may begin a new one wherever it likes."""
        known = dict(zip(self.before.replicas, self.before.directories, strict=False))
        lost = {NodeId(node): UNASSIGNED_DIRECTORY for node in cause.lost}
        if known or cause.directories:
            self.directories = {**known, **lost, **cause.directories}

    def _in_sync(self, cause: Cause) -> Nodes:
        before = self.before.isr
        wanted = before if cause.isr is None or set(cause.isr) == set(before) else cause.isr
        kept = [node for node in wanted if node in self.replicas and node not in cause.lost]
        if len(self.replicas) == 1:
            return tuple(kept)
        gone = cause.unclean | cause.leaving
        return tuple([node for node in kept if node in self.live and node not in gone])

    def find_eligible(self, cause: Cause) -> None:
        """The ELR: who is not in the new ISR and has all that was committed, as long as nothing is committed without them.

        Whom the ELR lost by unclean stops is the last known ELR; without an ISR it is the last leader alone, the best copy that
        is known of.
        """
        before = self.before
        had = {*before.isr, *before.eligible_leader_replicas}.difference(self.isr)
        away = cause.lost if len(self.replicas) == 1 else cause.lost | cause.unclean
        self.elr = tuple([node for node in self.replicas if node in had and node not in away])
        if self.isr:
            last = had.union(before.last_known_elr).difference(self.isr, self.elr)
        elif before.isr:
            last = {before.isr[0] if before.leader == NO_NODE else before.leader}
        else:
            last = {*before.last_known_elr}
        self.last_known = tuple([node for node in self.replicas if node in last and node not in cause.lost])

    def elect(self, electorate: Electorate, election: Election) -> bool:
        """Find who leads; whether that is clean: whether the leader has all that was committed."""
        able = [node for node in self.replicas if node in self.electable]
        in_sync = [node for node in able if node in self.isr]
        if election is Election.PREFERRED and self.replicas[0] in in_sync:
            self.leader = self.replicas[0]
            return True
        if self.leader in in_sync:
            return True
        clean = in_sync or [node for node in able if node in self.elr]
        if clean:
            self.leader = clean[0]
            return True
        if self.leader in self.isr and self.leader in self.live:
            return True  # it stops soon, and nobody could take over
        self.leader = NO_NODE
        if self.live.isdisjoint(self.isr):
            last = () if self.isr or self.elr else self.last_known
            accepted = election is Election.UNCLEAN or electorate.elects_unclean(self.before.topic)
            unclean = [node for node in able if node in last] or (able if accepted else [])
            if unclean:
                self.leader = unclean[0]
                return False
        return True

    def change(self, cause: Cause) -> r.PartitionChanged | None:
        before = self.before
        new_epoch = self._is_new_epoch(cause)
        change = r.PartitionChanged(
            before.topic_id,
            before.partition,
            self.replicas,
            self.isr,
            self.leader,
            LeaderEpoch(before.leader_epoch + new_epoch),
            PartitionEpoch(before.partition_epoch + 1),
            self.adding,
            self.removing,
            self.elr,
            self.last_known,
            self.recovery,
            self._told_directories(),
        )
        same = (
            not new_epoch
            and self.isr == before.isr
            and self.elr == before.eligible_leader_replicas
            and self.last_known == before.last_known_elr
            and self.recovery is before.leader_recovery_state
            and self.replicas == before.replicas
            and self.adding == before.adding_replicas
            and self.removing == before.removing_replicas
            and change.directories == before.directories
        )
        return None if same else change

    def _is_new_epoch(self, cause: Cause) -> bool:
        """A leader's knowledge of its followers is good for one epoch: it ends with a leader, with a copy, and with a replica."""
        before = self.before
        if self.leader != before.leader or not set(before.replicas).issubset(self.replicas):
            return True
        out = (node for node in (*before.isr, *before.eligible_leader_replicas) if node not in self.isr)
        return any(node in cause.unclean or node in cause.lost for node in out)

    def _told_directories(self) -> tuple[UUID, ...]:
        """One for each replica, or none where all are in their brokers' only ones."""
        places = tuple([self.directories.get(node, UNASSIGNED_DIRECTORY) for node in self.replicas])
        return places if any(place != UNASSIGNED_DIRECTORY for place in places) else ()
