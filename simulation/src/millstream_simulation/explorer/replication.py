"""Three replicas of a partition and a controller, explored: elections, crashes that lose the end of a log, messages that are lost or late.

The brokers' machines are the real ones (`replica.py`). The controller is the protocol's, in a few lines: it takes an ISR for
the present epochs from replicas in their present lives, fences who is silent, and elects from the ISR or, if that is empty,
from the replicas that left it last (KIP-966). The promises are of the partition as a whole:

- what one leader committed is never anything else, nor gone, on any later leader or follower that says so;
- whoever may be elected has all of it, and nobody cuts it off;
- what was acknowledged is part of it, and each leader epoch has one writer;
- what readers take for decided is: the marker that ends the transaction is committed as well.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Self

from millstream_broker.core.partition.isr import IsrAnswer
from millstream_broker.core.partition.standing import Partition
from millstream_simulation.explorer.connections import Answered, Arrives, Breaks, Connection, Connections, Lost
from millstream_simulation.explorer.happenings import (
    Appends,
    DiskFills,
    DiskHasRoom,
    Event,
    Fetches,
    Follows,
    IsFenced,
    IsUnfenced,
    Learns,
    LosesPatience,
    LosesPower,
)
from millstream_simulation.explorer.record_log import Record
from millstream_simulation.explorer.replica import (
    MIN_ISR,
    NOBODY,
    REPLICAS,
    Fetch,
    Fetched,
    Judged,
    Known,
    Make,
    Proposed,
    Replica,
)
from millstream_wire.errors import ErrorCode

CONTROLLER = "controller"
FIRST_LIFE = 10
Message = Fetch | Fetched | Proposed | Judged


@dataclass(slots=True)
class Bounds:
    """How often what may happen at any time may still happen."""

    records: int = 3
    elections: int = 2
    crashes: int = 1
    fences: int = 3
    impatience: int = 2
    full_disks: int = 0

    def as_tuple(self) -> tuple[int, ...]:
        return self.records, self.elections, self.crashes, self.fences, self.impatience, self.full_disks

    def copy(self) -> "Bounds":
        return Bounds(*self.as_tuple())


@dataclass(slots=True)
class ReplicationSystem:
    make: Make
    left: Bounds
    connections: Connections[Message]
    replicas: list[Replica]
    metadata: tuple[Known, ...]
    committed: tuple[Record, ...] = ()
    """What any leader has ever held for committed."""
    writers: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of each leader epoch: the node, and its life, that wrote in it."""
    trusts: bool = False
    """Whether the machines' own invariants are left out: what is broken without them shows outside as well."""

    @classmethod
    def of(
        cls,
        make: Make = Partition,
        *,
        isr: tuple[int, ...] = REPLICAS,
        breaks: int = 1,
        trusts: bool = False,
        **bounds: int,
    ) -> Self:
        """Node 0 leads, and these are in sync."""
        lives = tuple(FIRST_LIFE + node for node in REPLICAS)
        known = Known(isr, (), 0, 1, 1, lives, (True, True, True))
        replicas = [Replica(node, make, lives[node]) for node in REPLICAS]
        for replica in replicas:
            replica.learn(known)
        return cls(make, Bounds(**bounds), Connections(breaks), replicas, (known,), trusts=trusts)

    @property
    def known(self) -> Known:
        return self.metadata[-1]

    # ---- what may happen ----

    def events(self) -> Iterator[Event]:
        known, left = self.known, self.left
        for replica in self.replicas:
            node = replica.node
            if replica.partition.leads:
                if left.records and len(replica.partition.isr) >= MIN_ISR:
                    yield Appends(node)
                if left.impatience and len(replica.partition.isr) > 1:
                    yield LosesPatience(node)
            if replica.question() is not None:
                yield Fetches(node)
                yield Follows(node)
            if replica.applied < len(self.metadata) - 1:
                yield Learns(node)
            if not known.unfenced[node]:
                yield IsUnfenced(node)
            if replica.is_full:
                yield DiskHasRoom(node)
            elif left.full_disks:
                yield DiskFills(node)
            for leader in self._successors(node):
                if known.unfenced[node] and left.fences:
                    yield IsFenced(node, leader)
                if left.crashes:
                    for kept in sorted({0, len(replica.log.records) // 2, len(replica.log.records)}):
                        yield LosesPower(node, kept, leader)
        yield from self.connections.events()

    def _successors(self, node: int) -> list[int]:
        """Who may lead if this broker cannot: nobody else while another one leads."""
        known = self.known
        if known.leader != node:
            return [NOBODY]
        if not self.left.elections:
            return []
        able = [each for each in (*known.isr, *known.elr) if each != node and known.unfenced[each]]
        in_sync = [each for each in able if each in known.isr]
        return in_sync or able or [NOBODY]

    def happen(self, event: Event) -> None:
        match event:
            case Appends(node):
                self._append(self.replicas[node])
            case Fetches(node):
                self._fetch(self.replicas[node])
            case Follows(node):
                self._follow(self.replicas[node])
            case Learns(node):
                replica = self.replicas[node]
                replica.applied += 1
                replica.learn(self.metadata[replica.applied])
            case LosesPatience(node):
                self.left.impatience -= 1
                self.replicas[node].lose_patience()
            case IsFenced(node, leader):
                self.left.fences -= 1
                self._fence(node, leader)
            case IsUnfenced(node):
                self._unfence(node)
            case LosesPower(node, kept, leader):
                self._lose_power(node, kept, leader)
            case DiskFills(node):
                self.left.full_disks -= 1
                self.replicas[node].is_full = True
            case DiskHasRoom(node):
                self.replicas[node].is_full = False
            case Arrives(connection):
                self._arrive(connection, self.connections.arrived(event))
            case Answered(connection):
                self._hear(self.replicas[int(connection.client)], self.connections.answered(event))
            case Breaks(connection):
                self.connections.breaks(event)
                self._lose_connection(self.replicas[int(connection.client)], connection)
            case Lost():
                self.connections.loses(event)
        for replica in self.replicas:
            self._send_proposals(replica)
            self._note_committed(replica)

    # ---- brokers ----

    def _append(self, replica: Replica) -> None:
        self.left.records -= 1
        record = replica.append(self.left.records)
        writer = self.writers.setdefault(record.leader_epoch, (replica.node, replica.life))
        assert writer == (replica.node, replica.life), f"two wrote in epoch {record.leader_epoch}"

    def _fetch(self, replica: Replica) -> None:
        fetch = replica.question()
        assert fetch is not None
        assert replica.follower is not None
        replica.asked = True
        self.connections.ask(str(replica.node), str(replica.follower.leader), fetch)

    def _follow(self, replica: Replica) -> None:
        fetch = replica.question()
        assert fetch is not None
        assert replica.follower is not None
        leader = self.replicas[replica.follower.leader]
        replica.heard(leader.serve(fetch, self.metadata[leader.applied]))

    def _arrive(self, connection: Connection, message: Message) -> None:
        if isinstance(message, Proposed):
            self.connections.answer(connection, Judged(message.proposal, self._judge(message)))
        else:
            assert isinstance(message, Fetch)
            leader = self.replicas[int(connection.server)]
            self.connections.answer(connection, leader.serve(message, self.metadata[leader.applied]))

    def _hear(self, replica: Replica, message: Message) -> None:
        if isinstance(message, Judged):
            replica.judged(message.proposal, message.answer)
        else:
            assert isinstance(message, Fetched)
            replica.heard(message)

    def _lose_connection(self, replica: Replica, connection: Connection) -> None:
        if connection.server != CONTROLLER:
            replica.asked = False
            return
        proposal = replica.partition._in_sync.proposal
        if proposal is not None:
            replica.judged(proposal, IsrAnswer(ErrorCode.REQUEST_TIMED_OUT))

    def _send_proposals(self, replica: Replica) -> None:
        for proposal in replica.proposals:
            self.connections.ask(str(replica.node), CONTROLLER, Proposed(replica.node, replica.life, proposal))
        replica.proposals = ()

    def _lose_power(self, node: int, kept: int, leader: int) -> None:
        """The process is another one, which the controller takes out of the ISR, and lets in later."""
        self.left.crashes -= 1
        gone = self.replicas[node]
        self.connections.crash(str(node))
        high_watermark = int(gone.partition.high_watermark) if kept == len(gone.log.records) else 0
        again = gone.restarted(kept, high_watermark)
        again.applied = len(self.metadata) - 1
        again.life = self.known.lives[node] + FIRST_LIFE
        self.replicas[node] = again
        lives = tuple(again.life if each == node else life for each, life in enumerate(self.known.lives))
        unfenced = tuple(each and at != node for at, each in enumerate(self.known.unfenced))
        self._leave(node, leader, self.known._replace(lives=lives, unfenced=unfenced), is_clean=False)

    # ---- the controller ----

    def _judge(self, proposed: Proposed) -> IsrAnswer:
        known, proposal = self.known, proposed.proposal
        if known.lives[proposed.node] != proposed.life:
            return IsrAnswer(ErrorCode.STALE_BROKER_EPOCH)
        if proposal.leader_epoch < known.leader_epoch:
            return IsrAnswer(ErrorCode.FENCED_LEADER_EPOCH)
        if proposal.partition_epoch < known.partition_epoch:
            return IsrAnswer(ErrorCode.INVALID_UPDATE_VERSION)
        for member, life in proposal.isr:
            is_here = known.unfenced[member] and life in (known.lives[member], -1)
            if member != proposed.node and not is_here:
                return IsrAnswer(ErrorCode.INELIGIBLE_REPLICA)
        isr = tuple(member for member, _ in proposal.isr)
        self._decide(known, isr, known.elr, known.leader)
        now = self.known
        return IsrAnswer(ErrorCode.NONE, now.isr, now.leader_epoch, now.partition_epoch)

    def _fence(self, node: int, leader: int) -> None:
        unfenced = tuple(each and at != node for at, each in enumerate(self.known.unfenced))
        self._leave(node, leader, self.known._replace(unfenced=unfenced), is_clean=True)

    def _leave(self, node: int, leader: int, known: Known, *, is_clean: bool) -> None:
        """Who may have lost something is not eligible any more, either."""
        isr = tuple(each for each in known.isr if each != node)
        if not is_clean:
            known = known._replace(isr=isr, elr=tuple(each for each in known.elr if each != node))
        self._decide(known, isr, known.elr, leader if known.leader == node else known.leader)

    def _unfence(self, node: int) -> None:
        """If nobody leads, whoever is back may."""
        known = self.known
        known = known._replace(unfenced=tuple(each or at == node for at, each in enumerate(known.unfenced)))
        may_lead = node in known.isr or (not known.isr and node in known.elr)
        elects = known.leader == NOBODY and may_lead and self.left.elections > 0
        self._decide(known, known.isr, known.elr, node if elects else known.leader)

    def _decide(self, known: Known, isr: tuple[int, ...], elr: tuple[int, ...], leader: int) -> None:
        """The next state. Who leaves an ISR that gets too small stays eligible; each change of the leader is another epoch."""
        elected = leader not in (NOBODY, known.leader)
        self.left.elections -= elected
        if elected and leader not in isr:
            isr = (leader,)
        elr = () if len(isr) >= MIN_ISR else tuple(dict.fromkeys((*elr, *known.isr)))
        elr = tuple(node for node in elr if node not in isr)
        leader_epoch = known.leader_epoch + (leader != known.leader)
        now, before = (isr, elr, leader, leader_epoch), self.known
        changed = now != (before.isr, before.elr, before.leader, before.leader_epoch)
        epoch = known.partition_epoch + changed
        self.metadata += (Known(*now, epoch, known.lives, known.unfenced),)

    # ---- what has to hold ----

    def _note_committed(self, replica: Replica) -> None:
        if replica.partition.leads:
            mine = replica.log.records[: int(replica.partition.high_watermark)]
            shorter = min(len(mine), len(self.committed))
            assert mine[:shorter] == self.committed[:shorter], f"replica {replica.node} leads with another past"
            if len(mine) > len(self.committed):
                self.committed = mine
        for acknowledged in replica.acknowledged:
            is_committed = self.committed[acknowledged.offset : acknowledged.offset + 1] == (acknowledged.record,)
            assert is_committed, f"{acknowledged} is not committed"
        replica.acknowledged = ()

    def check(self) -> None:
        known, committed = self.known, self.committed
        for replica in self.replicas:
            partition = replica.partition
            if not self.trusts:
                partition.check()
            high_watermark = int(partition.high_watermark)
            assert replica.log.records[:high_watermark] == committed[:high_watermark], (
                f"replica {replica.node} shows what is not committed"
            )
            assert not replica.undecided(), f"replica {replica.node} takes a transaction for decided that is not"
            may_lead = replica.node in known.isr or replica.node in known.elr
            if may_lead and known.lives[replica.node] == replica.life:
                has = replica.log.records[: len(committed)]
                assert has == committed, f"replica {replica.node} may be elected and lacks what is committed"

    def fingerprint(self) -> Hashable:
        return (
            tuple(replica.fingerprint() for replica in self.replicas),
            self.connections.fingerprint(),
            self.metadata,
            self.committed,
            self.left.as_tuple(),
        )

    def copy(self) -> "ReplicationSystem":
        return ReplicationSystem(
            self.make,
            self.left.copy(),
            self.connections.copy(),
            [replica.copy() for replica in self.replicas],
            self.metadata,
            self.committed,
            dict(self.writers),
            self.trusts,
        )
