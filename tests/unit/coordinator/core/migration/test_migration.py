"""A live group goes from one protocol to the other and back: nobody's partitions are anybody else's on the way."""

from collections.abc import Iterable
from uuid import UUID

import pytest
from consumer_course import Course

from millstream_cluster.decision import Decision
from millstream_coordinator.core.classic.deadlines import on_deadline, on_heartbeat
from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.joining import on_join
from millstream_coordinator.core.classic.member import Member
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
from millstream_coordinator.core.classic.syncing import on_stored, on_sync
from millstream_coordinator.core.commands.classic_members import (
    on_classic_heartbeat,
    on_classic_join,
    on_classic_leave,
    on_classic_sync,
)
from millstream_coordinator.core.commands.offsets import CommitRequest, OffsetToCommit, commit
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.limits import ConsumerLimits, MigrationPolicy
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_coordinator.core.migration.migration import upgrade
from millstream_wire.codec import decode_embedded, encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.stored import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from millstream_wire.stored.consumer_protocol import TopicPartition

LIMITS = GroupLimits(initial_rebalance_delay_ms=0, consumer=ConsumerLimits(assignment_interval_ms=0))


class Classic:
    """A client of the classic protocol; `keeps` is what a cooperative one does not give up when it joins."""

    tickets = 0

    def __init__(self, course: Course, member_id: str, *, keeps: bool = False, instance_id: str | None = None) -> None:
        self.course, self.member_id, self.keeps, self.instance_id = course, member_id, keeps, instance_id
        self.owned: set[int] = set()
        self.generation = -1

    def join(self, *, protocol: str = "range") -> JoinAnswer | None:
        course, shard = self.course, self.course.shard
        if not self.keeps:
            self.owned = set()
        owned = [TopicPartition(topic="t", partitions=sorted(self.owned))] if self.owned else []
        subscription = ConsumerProtocolSubscription(topics=["t"], owned_partitions=owned)
        Classic.tickets += 1
        request = JoinRequest(
            ticket=Ticket(Classic.tickets),
            member_id="" if self.generation < 0 and self.instance_id is not None else self.member_id,
            new_member_id=self.member_id,
            group_instance_id=self.instance_id,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=(MemberProtocol(protocol, encode_stored(subscription, 3)),),
            requires_known_member_id=False,
        )
        if "g" in shard.consumers:
            decision = on_classic_join(shard, "g", request, course.image, course.now_ms)
            course.write(decision)
            if decision.reply is not None:
                self.generation = decision.reply.generation
                return decision.reply
        group = shard.enter("g", course.now_ms)
        if self.member_id not in group.members and self.instance_id is None:
            group.pending_members[self.member_id] = course.now_ms + 10_000
        (joined,) = answers([*on_join(group, request, course.now_ms), *on_deadline(group, course.now_ms)]) or [None]
        assert joined is None or isinstance(joined, JoinAnswer)
        if joined is not None:
            self.generation = joined.generation
        return joined

    def sync(self, assigned: dict[str, list[int]] | None = None) -> ErrorCode:
        course, shard = self.course, self.course.shard
        Classic.tickets += 1
        given = {
            name: encode_stored(
                ConsumerProtocolAssignment(assigned_partitions=[TopicPartition(topic="t", partitions=numbers)]), 1
            )
            for name, numbers in (assigned or {}).items()
        }
        request = SyncRequest(
            ticket=Ticket(Classic.tickets),
            member_id=self.member_id,
            generation=self.generation,
            group_instance_id=self.instance_id,
            assignments=tuple(given.items()),
        )
        if "g" in shard.consumers:
            decision = on_classic_sync(shard, "g", request, course.image, course.now_ms)
            course.write(decision)
            answer = decision.reply
        else:
            group = shard.groups["g"]
            effects = on_sync(group, request, course.now_ms)
            for effect in list(effects):
                if isinstance(effect, StoreGroup):
                    course.write(Decision((GroupStored(effect.group),), None))
                    effects += on_stored(group, effect.event, course.now_ms)
            (answer,) = answers(effects)  # type: ignore[assignment]
        assert isinstance(answer, SyncAnswer)
        if answer.error is ErrorCode.NONE:
            read = decode_embedded(ConsumerProtocolAssignment, answer.assignment)
            self.owned = {number for topic in read.assigned_partitions for number in topic.partitions}
        return answer.error

    def heartbeat(self) -> ErrorCode:
        course, shard = self.course, self.course.shard
        if "g" not in shard.consumers:
            return on_heartbeat(shard.groups["g"], self.member_id, self.generation, None, course.now_ms)
        decision = on_classic_heartbeat(
            shard, "g", self.member_id, self.generation, self.instance_id, course.image, course.now_ms
        )
        course.write(decision)
        return decision.reply

    def follow(self) -> None:
        """One turn of what the client does by itself."""
        if self.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS and self.join() is not None:
            self.sync()


class New:
    """A client of the consumer protocol."""

    def __init__(self, course: Course, member_id: str, **said: object) -> None:
        self.course, self.member_id, self.said = course, member_id, said
        self.owned: frozenset[tuple[UUID, int]] = frozenset()
        answer = course.join(member_id, "t", **said)
        assert answer.error is ErrorCode.NONE, answer.message
        self.epoch = answer.member_epoch
        self.owned = answer.assignment or frozenset()

    def follow(self) -> None:
        answer = self.course.heartbeat(self.member_id, self.epoch, reported=self.owned, **self.said)
        assert answer.error is ErrorCode.NONE, answer.message
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = answer.assignment

    @property
    def numbers(self) -> set[int]:
        return {number for _, number in self.owned}


def answers(effects: Iterable[Effect]) -> list[JoinAnswer | SyncAnswer]:
    return [effect.answer for effect in effects if isinstance(effect, Answer)]


@pytest.fixture
def course() -> Course:
    course = Course(LIMITS)
    course.create("t", 6)
    return course


def lone(course: Course, **how: object) -> Classic:
    """A stable classic group of one member that has everything."""
    old = Classic(course, "old", **how)  # type: ignore[arg-type]
    old.join()
    assert old.sync({"old": [0, 1, 2, 3, 4, 5]}) is ErrorCode.NONE
    return old


@pytest.mark.parametrize("keeps", [False, True])
def test_a_new_member_brings_the_group_over_and_the_last_one_to_go_leaves_it_classic(
    course: Course, keeps: bool
) -> None:
    old = lone(course, keeps=keeps)
    new = New(course, "new")
    assert new.owned == frozenset(), "nobody has given anything up yet"
    assert course.shard.stored == {}
    assert course.shard.groups == {}
    for _ in range(4):
        assert not old.owned & new.numbers
        old.follow()
        assert not old.owned & new.numbers
        new.follow()
    assert (len(old.owned), len(new.numbers)) == (3, 3)
    assert old.heartbeat() is ErrorCode.NONE, "and then there is peace"
    assert course.replayed().consumers == course.shard.consumers
    course.heartbeat("new", -1)
    group = course.shard.groups["g"]
    assert (group.state, course.shard.consumers) == (GroupState.PREPARING_REBALANCE, {})
    group.check()
    assert course.replayed().stored == course.shard.stored
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS, "its generation is the one it knows"
    joined = old.join()
    assert joined is not None
    assert joined.leader == "old"
    assert old.sync({"old": [0, 1, 2, 3, 4, 5]}) is ErrorCode.NONE


def test_another_classic_member_joins_the_group_on_its_way(course: Course) -> None:
    old, new = lone(course), New(course, "new")
    third = Classic(course, "third")
    assert third.join() is not None
    assert third.sync() is ErrorCode.NONE
    for _ in range(4):
        for member in (old, new, third):
            member.follow()
    shares = [old.owned, new.numbers, third.owned]
    assert [len(share) for share in shares] == [2, 2, 2]
    assert set().union(*shares) == set(range(6))
    stranger = Classic(course, "stranger")
    refused = stranger.join(protocol="another")
    assert refused is not None
    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    decision = on_classic_leave(
        course.shard, "g", [LeavingMember("third"), LeavingMember("x")], course.image, course.now_ms
    )
    course.write(decision)
    assert [left.error for left in decision.reply] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    for _ in range(3):
        for each in (old, new):
            each.follow()
    assert [len(old.owned), len(new.numbers)] == [3, 3]


def test_a_classic_member_commits_in_its_generation_only(course: Course) -> None:
    old, _ = lone(course), New(course, "new")

    def refusal(generation: int) -> ErrorCode:
        offset = OffsetToCommit(topic="t", partition=0, offset=5)
        request = CommitRequest(group_id="g", generation=generation, member_id="old", offsets=(offset,))
        return commit(course.shard, request, course.now_ms).reply

    assert refusal(old.generation) is ErrorCode.NONE, "before it gives up what it has"
    assert refusal(old.generation - 1) is ErrorCode.ILLEGAL_GENERATION


def test_a_classic_member_that_does_not_join_again_is_removed(course: Course) -> None:
    old, new = lone(course), New(course, "new")
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(20):
        assert course.pass_time(3_100) in (set(), {"old"})
        new.follow()
        if "old" not in course.shard.consumers["g"].members:
            break
        old.heartbeat()
    new.follow()
    assert new.numbers == set(range(6))


def test_a_classic_member_that_falls_silent_is_removed_by_its_own_session(course: Course) -> None:
    lone(course)
    new = New(course, "new")
    course.pass_time(9_000)
    new.follow()
    assert course.pass_time(1_500) == {"old"}
    loaded = course.replayed()
    loaded.begin(course.now_ms)
    loaded.check()


def test_a_static_member_comes_back_under_the_other_protocol(course: Course) -> None:
    lone(course, instance_id="one")
    new = New(course, "new", instance_id="one")
    assert new.numbers == set(range(6)), "its own place, at once"
    assert course.shard.consumers["g"].members.keys() == {"new"}


def test_members_that_wait_to_join_are_told_to_ask_again(course: Course) -> None:
    old = lone(course)
    group: ClassicGroup = course.shard.groups["g"]
    waiting = Classic(course, "waiting")
    assert waiting.join() is None
    New(course, "new")
    (told,) = answers(group.take_effects())
    assert told.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert course.shard.consumers["g"].members.keys() == {"old", "waiting", "new"}
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_where_it_is_not_wanted_a_live_group_stays_what_it_is(policy: MigrationPolicy) -> None:
    limits = GroupLimits(consumer=ConsumerLimits(assignment_interval_ms=0, migration=policy))
    course = Course(limits)
    course.create("t", 6)
    group = course.shard.groups["g"] = ClassicGroup("g", LIMITS, course.now_ms)
    assert group.is_unused
    old = lone(course)
    assert course.join("new", "t").error is ErrorCode.GROUP_ID_NOT_FOUND
    assert old.heartbeat() is ErrorCode.NONE


def test_what_a_leader_gave_to_two_members_stays_with_one(course: Course) -> None:
    group = ClassicGroup("g", LIMITS, course.now_ms)
    group.generation, group.protocol_type = 3, "consumer"
    subscription = encode_stored(ConsumerProtocolSubscription(topics=["t"]), 3)
    for member_id, numbers in (("first", [0, 1, 2]), ("second", [2, 3])):
        listed = [TopicPartition(topic="t", partitions=numbers)]
        group.add_member(
            Member(
                member_id=member_id,
                group_instance_id=None,
                client_id="client",
                client_host="/host",
                rebalance_timeout_ms=60_000,
                session_timeout_ms=10_000,
                protocols=(MemberProtocol("range", subscription),),
                assignment=encode_stored(ConsumerProtocolAssignment(assigned_partitions=listed), 1),
            )
        )
    upgraded = ConsumerGroup("g")
    for record in upgrade(group, course.image):
        upgraded.apply(record)
    upgraded.check()
    has = {name: sorted(number for _, number in upgraded.current(name).assigned) for name in ("first", "second")}
    assert has == {"first": [0, 1, 2], "second": [3]}
