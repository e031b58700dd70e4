"""Any course of a classic group: whatever members, time and the log do, every request is answered once and truly, and the
log gives the group that a rebalance ended in.
"""

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millstream_coordinator.core.classic.deadlines import on_deadline, on_heartbeat
from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.joining import on_join
from millstream_coordinator.core.classic.leaving import on_leave
from millstream_coordinator.core.classic.messages import (
    Answer,
    Effect,
    JoinAnswer,
    JoinRequest,
    LeavingMember,
    StoreGroup,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from millstream_coordinator.core.classic.records import GroupStored
from millstream_coordinator.core.classic.syncing import on_store_refused, on_stored, on_sync
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.group_shard.record_format import decode_record, encode_record
from millstream_wire.errors import ErrorCode

SLOTS = st.integers(0, 4)
PROTOCOLS = st.sampled_from([("range",), ("range", "sticky"), ("sticky", "range"), ("sticky",)])


class GroupCourse(RuleBasedStateMachine):
    """Five clients, of which two are static, that act on what they were told, or on what they were told long ago."""

    @initialize(delay_ms=st.sampled_from([0, 3_000]), size_max=st.sampled_from([3, 100]))
    def begin(self, delay_ms: int, size_max: int) -> None:
        self.now_ms = 0
        limits = GroupLimits(initial_rebalance_delay_ms=delay_ms, session_timeout_min_ms=1_000, size_max=size_max)
        self.group = ClassicGroup("g", limits, 0)
        self.tickets = 0
        self.open: dict[Ticket, int] = {}
        self.ids = [""] * 5
        self.known: list[JoinAnswer | None] = [None] * 5
        self.storing: list[StoreGroup] = []
        self.logged: tuple[bytes, bytes | None] | None = None
        self.agreed: dict[int, tuple[Any, ...]] = {}
        self.last_generation = 0

    # What may happen

    @rule(slot=SLOTS, names=PROTOCOLS, known=st.booleans(), session_ms=st.sampled_from([1_000, 5_000, 40_000]))
    def join(self, slot: int, names: tuple[str, ...], known: bool, session_ms: int) -> None:
        ticket = self._ticket(slot)
        request = JoinRequest(
            ticket=ticket,
            member_id=self.ids[slot] if known else "",
            new_member_id=f"m{slot}-{ticket}",
            group_instance_id=self._instance(slot),
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=tuple(MemberProtocol(name, f"{slot}".encode()) for name in names),
            requires_known_member_id=bool(slot % 2),
        )
        self._perform(on_join(self.group, request, self.now_ms))

    @rule(slot=SLOTS)
    def sync(self, slot: int) -> None:
        answer = self.known[slot]
        if answer is None:
            return
        request = SyncRequest(
            ticket=self._ticket(slot),
            member_id=answer.member_id,
            generation=answer.generation,
            group_instance_id=self._instance(slot),
            assignments=tuple((m.member_id, f"{answer.generation}:{m.member_id}".encode()) for m in answer.members),
        )
        self._perform(on_sync(self.group, request, self.now_ms))

    @rule(elapsed_ms=st.sampled_from([0, 3_000]))
    def all_join(self, elapsed_ms: int) -> None:
        """Chance alone seldom brings a generation about."""
        for slot in range(5):
            self.join(slot, ("range", "sticky"), bool(self.ids[slot]), 40_000)
        self.pass_time(elapsed_ms)

    @rule()
    def all_sync(self) -> None:
        for slot in range(5):
            self.sync(slot)

    @rule(slot=SLOTS)
    def heartbeat(self, slot: int) -> None:
        answer = self.known[slot]
        if answer is not None:
            on_heartbeat(self.group, answer.member_id, answer.generation, self._instance(slot), self.now_ms)

    @rule(slot=SLOTS)
    def leave(self, slot: int) -> None:
        _, effects = on_leave(self.group, [LeavingMember(self.ids[slot], self._instance(slot))], self.now_ms)
        self._perform(effects)

    @rule(elapsed_ms=st.sampled_from([0, 10, 900, 3_000, 11_000]))
    def pass_time(self, elapsed_ms: int) -> None:
        end_ms = self.now_ms + elapsed_ms
        for _ in range(100):
            deadline_ms = self.group.deadline()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            self._perform(on_deadline(self.group, self.now_ms))
        else:
            raise AssertionError("deadlines that never pass")
        self.now_ms = end_ms

    @rule(refused=st.sampled_from([False, False, False, True]))
    def log_answers(self, refused: bool) -> None:
        if not self.storing:
            return
        if refused:
            self._perform(on_store_refused(self.group, self.storing.pop(0).event, self.now_ms))
        else:
            self._log()

    # What must be true

    @invariant()
    def holds_together(self) -> None:
        if hasattr(self, "group"):
            self.group.check()
            assert self.group.generation >= self.last_generation
            self.last_generation = self.group.generation
            if self.group.state is GroupState.STABLE:
                waiting = {m.join_ticket for m in self.group.members.values() if m.join_ticket is not None}
                assert waiting <= {t for s in self.storing if (t := getattr(s.event, "ticket", None)) is not None}

    @invariant()
    def the_log_gives_the_group_in_peace(self) -> None:
        if hasattr(self, "group") and not self.storing and self.group.state is GroupState.STABLE:
            assert self.logged is not None
            record = decode_record(*self.logged)
            assert isinstance(record, GroupStored)
            loaded = ClassicGroup.loaded(record.group, self.group.limits, self.now_ms)
            loaded.check()
            assert _settled(loaded) == _settled(self.group)

    def teardown(self) -> None:
        """Left alone for long enough, with a log that works, nobody waits any more."""
        if not hasattr(self, "group"):
            return
        for _ in range(100):
            while self.storing:
                self._log()
            deadline_ms = self.group.deadline()
            if deadline_ms is None:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            self._perform(on_deadline(self.group, self.now_ms))
            self.holds_together()
        assert self.open == {}
        assert self.group.state is GroupState.EMPTY

    # How the world carries it out

    def _log(self) -> None:
        effect = self.storing.pop(0)
        self.logged = encode_record(GroupStored(effect.group))
        self._perform(on_stored(self.group, effect.event, self.now_ms))

    def _instance(self, slot: int) -> str | None:
        return f"i-{slot % 2}" if slot > 2 else None

    def _ticket(self, slot: int) -> Ticket:
        self.tickets += 1
        ticket = Ticket(self.tickets)
        self.open[ticket] = slot
        return ticket

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case StoreGroup():
                    self.storing.append(effect)
                case Answer(ticket, JoinAnswer() as answer):
                    self._told(self.open.pop(ticket), answer)
                case Answer(ticket, SyncAnswer() as answer):
                    self._assigned(self.open.pop(ticket), answer)

    def _told(self, slot: int, answer: JoinAnswer) -> None:
        if answer.error in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.ids[slot] = answer.member_id
        if answer.error is not ErrorCode.NONE:
            return
        self.known[slot] = answer
        terms = (answer.protocol, answer.protocol_type)
        assert self.agreed.setdefault(answer.generation, terms) == terms, "one generation, two protocols"
        if answer.members:
            assert answer.leader == answer.member_id
            assert answer.member_id in {member.member_id for member in answer.members}

    def _assigned(self, slot: int, answer: SyncAnswer) -> None:
        if answer.error is not ErrorCode.NONE or not answer.assignment:
            return
        generation, owner = answer.assignment.decode().split(":")
        told = self.known[slot]
        assert told is not None
        assert int(generation) <= self.group.generation
        # A static member that came back under a new id keeps what its earlier self was assigned.
        assert owner == told.member_id or (self._instance(slot) is not None and owner.startswith("m"))


def _settled(group: ClassicGroup) -> Any:
    stored = group.stored()
    return replace(stored, state_timestamp_ms=0, members=frozenset(stored.members))


GroupCourse.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestAnyCourse = GroupCourse.TestCase
