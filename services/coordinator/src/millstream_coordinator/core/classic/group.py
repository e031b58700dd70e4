"""A classic group: its state, its members and the elementary changes to them.

When to make which change is decided by the modules beside this one (joining, rebalance, syncing, leaving, deadlines).

    Empty ──join──▶ PreparingRebalance ──all joined or time is over──▶ CompletingRebalance ──leader's sync stored──▶ Stable
      ▲                │  ▲                                               │                                          │
      └──nobody left───┘  └────────────── join, leave, session over ──────┴──────────────────────────────────────────┘

Dead is the state of a group that was removed from under those who still held it.
"""

from collections import Counter
from enum import StrEnum

from millstream_coordinator.core.classic.limits import ClassicLimits
from millstream_coordinator.core.classic.member import Member
from millstream_coordinator.core.classic.messages import (
    Answer,
    Effect,
    JoinAnswer,
    JoinedMember,
    StoredEvent,
    StoreGroup,
    SyncAnswer,
    Ticket,
)
from millstream_coordinator.core.classic.stored_group import StoredGroup
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_wire.errors import ErrorCode


class GroupState(StrEnum):
    """The values are what ListGroups and DescribeGroups call them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicGroup:
    """Invariant (`check`): a group with members has a leader among them and a protocol type; a generation under way has a
    protocol that every member offers; a ticket waits in one place; Empty means no members; who waits for a sync waits
    in CompletingRebalance; whatever may end by time has its deadline at or after the one that `deadline` reports.
    """

    def __init__(self, group_id: str, limits: ClassicLimits, now_ms: int) -> None:
        self.group_id = group_id
        self.limits = limits
        self.state = GroupState.EMPTY
        self.state_timestamp_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        """Member id by group instance id."""
        self.pending_members: dict[str, int] = {}
        """Ids given out, to be joined with before this time."""
        self.pending_syncs: set[str] = set()
        """Members of this generation that did not ask for their assignment yet."""
        self.initial = False
        """This rebalance began with an empty group: it waits for more members rather than for all known ones."""
        self.initial_remaining_ms = 0
        self.new_member_added = False
        self.join_deadline_ms: int | None = None
        self.sync_deadline_ms: int | None = None
        self.storing_generation: int | None = None
        """The leader's assignment for this generation is on its way to the log."""
        self._joined = 0
        self._protocol_counts: Counter[str] = Counter()
        self._wake_ms: int | None = None
        self._effects: list[Effect] = []

    @staticmethod
    def loaded(stored: StoredGroup, limits: ClassicLimits, now_ms: int) -> "ClassicGroup":
        """Go on where the log ends; every member has a whole session to be heard of."""
        group = ClassicGroup(stored.group_id, limits, stored.state_timestamp_ms)
        group.generation = stored.generation
        group.protocol_type = stored.protocol_type or None
        if stored.members:
            group.state = GroupState.STABLE
            group.protocol = stored.protocol
            for member in stored.members:
                group.add_member(Member.loaded(member, stored.protocol or ""))
                group.hear_from(group.members[member.member_id], now_ms)
            if stored.leader in group.members:
                group.leader = stored.leader
        return group

    # Looking

    def deadline(self) -> int | None:
        """When `on_deadline` has to be called at the latest; it may find nothing to do then."""
        return self._wake_ms

    @property
    def is_unused(self) -> bool:
        return self.state is GroupState.EMPTY and not self.pending_members

    @property
    def all_joined(self) -> bool:
        return self._joined == len(self.members) and not self.pending_members

    @property
    def joined(self) -> int:
        """How many members wait for their join to be answered."""
        return self._joined

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, protocols: tuple[MemberProtocol, ...]) -> bool:
        """Whether a member that offers these protocols can be part of the group."""
        if not self.members:
            return bool(protocol_type and protocols)
        everyone = len(self.members)
        return protocol_type == self.protocol_type and any(self._protocol_counts[p.name] == everyone for p in protocols)

    def select_protocol(self) -> str:
        """The protocol that most members would choose among those that all offer; the first of equals."""
        everyone = len(self.members)
        votes: Counter[str] = Counter()
        for member in self.members.values():
            votes[next(p.name for p in member.protocols if self._protocol_counts[p.name] == everyone)] += 1
        return votes.most_common(1)[0][0]

    def refusal(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Why a request of this member is not the group's to serve, or NONE."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """What the leader assigns by."""
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        )

    def stored(self, assignments: dict[str, bytes] | None = None) -> StoredGroup:
        """The group for the log, with these assignments or the ones it has."""
        return StoredGroup(
            group_id=self.group_id,
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            state_timestamp_ms=self.state_timestamp_ms,
            members=tuple(
                member.stored(
                    self.protocol, member.assignment if assignments is None else assignments.get(member.member_id, b"")
                )
                for member in self.members.values()
            ),
        )

    # Effects

    def answer_join(self, ticket: Ticket, answer: JoinAnswer) -> None:
        self._effects.append(Answer(ticket, answer))

    def answer_sync(self, ticket: Ticket, answer: SyncAnswer) -> None:
        self._effects.append(Answer(ticket, answer))

    def store(self, stored: StoredGroup, event: StoredEvent) -> None:
        self._effects.append(StoreGroup(stored, event))

    def take_effects(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects

    # Changing

    def transition(self, state: GroupState, now_ms: int) -> None:
        self.state = state
        self.state_timestamp_ms = now_ms

    def add_member(self, member: Member) -> None:
        self.members[member.member_id] = member
        self.pending_members.pop(member.member_id, None)
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self._count(member, 1)

    def remove_member(self, member_id: str, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> Member:
        """Take the member out; what it waits for is answered with `error`, so that a live one joins anew."""
        member = self.members.pop(member_id)
        self.dismiss(member, error)
        self._count(member, -1)
        self.settle_sync(member_id)
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def replace_static_member(self, group_instance_id: str, new_member_id: str) -> Member:
        """Give the static member a new id; whoever still acts under the old one is fenced."""
        old_member_id = self.static_members[group_instance_id]
        was_leader, awaited = self.leader == old_member_id, old_member_id in self.pending_syncs
        member = self.remove_member(old_member_id, ErrorCode.FENCED_INSTANCE_ID)
        member.member_id = new_member_id
        self.add_member(member)
        if was_leader:
            self.leader = new_member_id
        if awaited:
            self.pending_syncs.add(new_member_id)
        return member

    def wait_for_join(self, member: Member, request_ticket: Ticket) -> None:
        """The member's join will be answered when the rebalance is complete; one sent before it is superseded."""
        if member.join_ticket is not None:
            superseded = JoinAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id)
            self.answer_join(member.join_ticket, superseded)
        else:
            self._joined += 1
        member.join_ticket = request_ticket

    def finish_join(self, member: Member, answer: JoinAnswer) -> None:
        if member.join_ticket is not None:
            self.answer_join(member.join_ticket, answer)
            member.join_ticket = None
            self._joined -= 1

    def wait_for_sync(self, member: Member, ticket: Ticket) -> None:
        self.finish_sync(member, SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync_ticket = ticket

    def finish_sync(self, member: Member, answer: SyncAnswer) -> None:
        if member.sync_ticket is not None:
            self.answer_sync(member.sync_ticket, answer)
            member.sync_ticket = None

    def dismiss(self, member: Member, error: ErrorCode) -> None:
        self.finish_join(member, JoinAnswer(error=error, member_id=member.member_id))
        self.finish_sync(member, SyncAnswer(error=error))

    def settle_sync(self, member_id: str) -> None:
        """The member asked for its assignment, or is gone: no need to wait for it."""
        self.pending_syncs.discard(member_id)
        if not self.pending_syncs:
            self.sync_deadline_ms = None

    def change_member(
        self, member: Member, protocols: tuple[MemberProtocol, ...], rebalance: int, session: int
    ) -> None:
        self._count(member, -1, joined=False)
        member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms = protocols, rebalance, session
        self._count(member, 1, joined=False)

    def _count(self, member: Member, change: int, *, joined: bool = True) -> None:
        for name in {offered.name for offered in member.protocols}:
            self._protocol_counts[name] += change
            if not self._protocol_counts[name]:
                del self._protocol_counts[name]
        if joined and member.join_ticket is not None:
            self._joined += change

    # Deadlines

    def hear_from(self, member: Member, now_ms: int) -> None:
        """The member lives: its session starts anew."""
        member.deadline_ms = now_ms + member.session_timeout_ms
        self.wake_at(member.deadline_ms)

    def wake_at(self, time_ms: int) -> None:
        if self._wake_ms is None or time_ms < self._wake_ms:
            self._wake_ms = time_ms

    def reckon_deadline(self) -> None:
        """Find the earliest deadline anew; between these the reported one may be early, never late."""
        times = [member.deadline_ms for member in self.members.values()]
        times += self.pending_members.values()
        times += (time for time in (self.join_deadline_ms, self.sync_deadline_ms) if time is not None)
        self._wake_ms = min(times, default=None)

    def check(self) -> None:
        members = self.members.values()
        assert (self.state in (GroupState.EMPTY, GroupState.DEAD)) <= (not members)
        assert bool(members) == (self.leader is not None)
        assert self.leader is None or self.leader in self.members
        assert self._joined == sum(member.join_ticket is not None for member in members)
        assert self.static_members == {
            m.group_instance_id: m.member_id for m in members if m.group_instance_id is not None
        }
        assert not self.pending_members.keys() & self.members.keys()
        assert self.pending_syncs <= self.members.keys()
        offered = [{p.name for p in member.protocols} for member in members]
        assert self._protocol_counts == Counter(name for names in offered for name in names)
        if self.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            assert self.protocol_type
            assert all(self.protocol in names for names in offered)
            assert self.join_deadline_ms is None
        if self.state is GroupState.PREPARING_REBALANCE:
            assert self.join_deadline_ms is not None
        assert all(m.sync_ticket is None for m in members) or self.state is GroupState.COMPLETING_REBALANCE
        tickets = [t for m in members for t in (m.join_ticket, m.sync_ticket) if t is not None]
        assert len(tickets) == len(set(tickets))
        reported = self._wake_ms
        self.reckon_deadline()
        earliest, self._wake_ms = self._wake_ms, reported
        assert earliest is None or (reported is not None and reported <= earliest)
