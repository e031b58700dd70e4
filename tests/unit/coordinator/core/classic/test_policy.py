"""What a group's configuration does to a classic group: admission, pausing, draining, size and sessions."""

from collections.abc import Iterable

import pytest

from millstream_coordinator.core.classic.deadlines import on_deadline
from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.joining import on_join
from millstream_coordinator.core.classic.messages import (
    Answer,
    Effect,
    JoinAnswer,
    JoinRequest,
    StoreGroup,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from millstream_coordinator.core.classic.policy import WITHHELD, dismiss_if_drained, on_limits
from millstream_coordinator.core.classic.syncing import on_stored, on_sync
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_wire.codec import encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.stored import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from millstream_wire.stored.consumer_protocol import TopicPartition

LIMITS = GroupLimits(initial_rebalance_delay_ms=0)
PARTITIONS = [TopicPartition(topic="t", partitions=[0, 1])]
ASSIGNED = encode_stored(ConsumerProtocolAssignment(assigned_partitions=PARTITIONS), 1)
WITH_MORE = encode_stored(ConsumerProtocolAssignment(assigned_partitions=PARTITIONS, user_data=b"more"), 1)


def own(**configs: str) -> GroupLimits:
    return LIMITS.of_group({name.replace("__", "."): value for name, value in configs.items()})


def answers(effects: Iterable[Effect]) -> list[JoinAnswer | SyncAnswer]:
    return [effect.answer for effect in effects if isinstance(effect, Answer)]


class Member:
    """One that does what its client would do."""

    tickets = 0

    def __init__(self, group: ClassicGroup, name: str, *topics: str) -> None:
        self.group, self.name = group, name
        self.protocols = (MemberProtocol("range", encode_stored(ConsumerProtocolSubscription(topics=list(topics)), 1)),)

    def join(self, **changes: object) -> list[JoinAnswer | SyncAnswer]:
        Member.tickets += 1
        values = {
            "ticket": Ticket(Member.tickets),
            "member_id": self.name if self.name in self.group.members else "",
            "new_member_id": self.name,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": self.protocols,
            "requires_known_member_id": False,
        }
        effects = on_join(self.group, JoinRequest(**(values | changes)), 0)  # type: ignore[arg-type]
        return answers([*effects, *on_deadline(self.group, 0)])

    def sync(self, assignment: bytes) -> bytes:
        Member.tickets += 1
        request = SyncRequest(
            ticket=Ticket(Member.tickets),
            member_id=self.name,
            generation=self.group.generation,
            assignments=tuple((member_id, assignment) for member_id in self.group.members),
        )
        effects = on_sync(self.group, request, 0)
        for effect in effects:
            if isinstance(effect, StoreGroup):
                effects = [*effects, *on_stored(self.group, effect.event, 0)]
        self.group.check()
        (answer,) = answers(effects)
        assert isinstance(answer, SyncAnswer)
        return answer.assignment


@pytest.fixture
def group() -> ClassicGroup:
    return ClassicGroup("g", LIMITS, 0)


def test_a_closed_group_keeps_who_is_in_and_admits_nobody(group: ClassicGroup) -> None:
    a, b = Member(group, "a", "t"), Member(group, "b", "t")
    a.join()
    a.sync(ASSIGNED)
    on_limits(group, own(admission="closed"), 0)
    assert b.join()[0].error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert a.join()[0].error is ErrorCode.NONE
    assert group.members.keys() == {"a"}


def test_where_topics_are_declared_others_are_refused(group: ClassicGroup) -> None:
    group.limits = own(admission="declared", admission__topics="t")
    assert Member(group, "a", "t", "u").join()[0].error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    a = Member(group, "a", "t")
    assert a.join()[0].error is ErrorCode.NONE
    other = Member(group, "a", "u")
    assert other.join()[0].error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert group.members == {}, "it reads what it may not, so it is no member any more"


def test_members_of_a_paused_group_stay_and_have_nothing(group: ClassicGroup) -> None:
    a = Member(group, "a", "t")
    a.join()
    assert a.sync(ASSIGNED) == ASSIGNED
    on_limits(group, own(paused="true"), 0)
    assert group.state is GroupState.PREPARING_REBALANCE
    a.join()
    assert a.sync(ASSIGNED) == WITHHELD
    on_limits(group, own(paused="true"), 0)
    assert group.state is GroupState.STABLE, "once is enough"
    on_limits(group, LIMITS, 0)
    a.join()
    assert a.sync(ASSIGNED) == ASSIGNED


def test_a_group_loaded_after_its_configuration_changed_is_assigned_anew(group: ClassicGroup) -> None:
    a = Member(group, "a", "t")
    a.join()
    a.sync(ASSIGNED)
    loaded = ClassicGroup.loaded(group.stored(), LIMITS, 0)
    on_limits(loaded, LIMITS, 0)
    assert loaded.state is GroupState.STABLE
    on_limits(loaded, own(paused="true"), 0)
    assert loaded.state is GroupState.PREPARING_REBALANCE


def test_what_kafka_streams_assigns_is_not_withheld(group: ClassicGroup) -> None:
    group.limits = own(paused="true")
    a = Member(group, "a", "t")
    a.protocols = (MemberProtocol("stream", b""),)
    a.join()
    assert a.sync(WITH_MORE) == WITH_MORE


def test_members_of_a_drained_group_give_up_and_then_have_to_go(group: ClassicGroup) -> None:
    members = [Member(group, name, "t") for name in "ab"]
    for member in members:
        member.join()
    members[0].join()
    members[0].sync(ASSIGNED)
    members[1].sync(ASSIGNED)
    on_limits(group, own(drain="true"), 0)
    assert Member(group, "c", "t").join()[0].error is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert dismiss_if_drained(group, "a", 0) is ErrorCode.NONE, "it has not given up yet"
    for member in members:
        member.join()
    for member in members:
        assert member.sync(ASSIGNED) == WITHHELD
    assert dismiss_if_drained(group, "a", 0) is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert group.state is GroupState.STABLE, "the other one has nothing to do with it"
    assert dismiss_if_drained(group, "b", 0) is ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert group.state is GroupState.EMPTY
    group.check()


def test_the_groups_own_size_and_sessions_count(group: ClassicGroup) -> None:
    group.limits = own(max__size="1", max__session__timeout__ms="20000")
    assert group.limits.session_timeout_max_ms == 20_000
    Member(group, "a", "t").join()
    assert Member(group, "b", "t").join()[0].error is ErrorCode.GROUP_MAX_SIZE_REACHED
