"""Classic groups as scenarios: a group, one stimulus, everything that it leads to."""

from collections.abc import Sequence
from typing import Any

import pytest

from millstream_coordinator.core.classic.deadlines import on_deadline, on_heartbeat, on_pause
from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.joining import on_join, refusal_of_entry
from millstream_coordinator.core.classic.leaving import on_leave
from millstream_coordinator.core.classic.messages import (
    Answer,
    Effect,
    GenerationAssigned,
    GroupEmptied,
    JoinAnswer,
    JoinedMember,
    JoinRequest,
    LeavingMember,
    LeftMember,
    StaticMemberReplaced,
    StoreGroup,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from millstream_coordinator.core.classic.syncing import on_store_refused, on_stored, on_sync
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.group_shard.limits import GroupLimits
from millstream_wire.errors import ErrorCode

LIMITS = GroupLimits(initial_rebalance_delay_ms=3_000)
RANGE = (MemberProtocol("range", b"sub"),)
SESSION_MS, REBALANCE_MS = 10_000, 60_000


def join(ticket: int, name: str, **changes: Any) -> JoinRequest:
    """By default a client that does without KIP-394: what it is called is decided at once."""
    values: dict[str, Any] = {
        "ticket": Ticket(ticket),
        "new_member_id": name,
        "client_id": "client",
        "client_host": "/127.0.0.1",
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": REBALANCE_MS,
        "protocol_type": "consumer",
        "protocols": RANGE,
        "requires_known_member_id": False,
    }
    return JoinRequest(**(values | changes))


def rejoin(ticket: int, name: str, **changes: Any) -> JoinRequest:
    return join(ticket, "unused", member_id=name, **changes)


def sync(ticket: int, name: str, generation: int, *assignments: tuple[str, bytes], **changes: Any) -> SyncRequest:
    return SyncRequest(ticket=Ticket(ticket), member_id=name, generation=generation, assignments=assignments, **changes)


def joined(generation: int, name: str, leader: str, *others: str, **changes: Any) -> JoinAnswer:
    values: dict[str, Any] = {
        "member_id": name,
        "generation": generation,
        "protocol_type": "consumer",
        "protocol": "range",
        "leader": leader,
        "members": tuple(JoinedMember(other, None, b"sub") for other in others),
    }
    return JoinAnswer(**(values | changes))


def assigned(assignment: bytes) -> SyncAnswer:
    return SyncAnswer(protocol_type="consumer", protocol="range", assignment=assignment)


def refused(error: ErrorCode, name: str = "") -> JoinAnswer:
    return JoinAnswer(error=error, member_id=name)


def stores(effects: Sequence[Effect]) -> list[StoreGroup]:
    return [effect for effect in effects if isinstance(effect, StoreGroup)]


def new_group(limits: GroupLimits = LIMITS) -> ClassicGroup:
    return ClassicGroup("g", limits, 0)


def gathered(*names: str, **changes: Any) -> ClassicGroup:
    """A group whose members joined generation 1 at 3 s and have not synced."""
    group = new_group()
    for ticket, name in enumerate(names):
        on_join(group, join(ticket, name, **changes.get(name, {})), 0)
    on_deadline(group, 3_000)
    if group.state is GroupState.PREPARING_REBALANCE:
        on_deadline(group, 6_000)
    assert group.state is GroupState.COMPLETING_REBALANCE
    return group


def stable(*names: str, **changes: Any) -> ClassicGroup:
    """A stable group: generation 1, the first is the leader, everyone is assigned its own name."""
    group = gathered(*names, **changes)
    effects: list[Effect] = []
    for ticket, name in enumerate(names):
        effects += on_sync(group, sync(100 + ticket, name, 1, *((n, n.encode()) for n in names)), 6_000)
    (store,) = stores(effects)
    on_stored(group, store.event, 6_000)
    assert group.state is GroupState.STABLE
    group.check()
    return group


def test_a_new_member_gets_an_id_and_comes_back_with_it() -> None:
    group = new_group()
    request = join(1, "m-1", requires_known_member_id=True)
    assert on_join(group, request, 0) == [Answer(Ticket(1), refused(ErrorCode.MEMBER_ID_REQUIRED, "m-1"))]
    assert group.state is GroupState.EMPTY
    assert on_join(group, rejoin(2, "m-1"), 10) == []
    assert on_deadline(group, 3_010) == [Answer(Ticket(2), joined(1, "m-1", "m-1", "m-1"))]
    group.check()


def test_an_id_that_is_not_used_in_time_is_forgotten() -> None:
    group = new_group()
    on_join(group, join(1, "m-1", requires_known_member_id=True), 0)
    assert group.deadline() == SESSION_MS
    assert on_deadline(group, SESSION_MS) == []
    assert on_join(group, rejoin(2, "m-1"), SESSION_MS) == [
        Answer(Ticket(2), refused(ErrorCode.UNKNOWN_MEMBER_ID, "m-1"))
    ]
    assert group.is_unused


def test_the_first_rebalance_waits_while_members_keep_coming() -> None:
    group = new_group()
    assert on_join(group, join(1, "a"), 0) == []
    assert group.deadline() == 3_000
    assert on_join(group, join(2, "b"), 2_000) == []
    assert on_deadline(group, 3_000) == []
    assert group.deadline() == 6_000
    assert on_deadline(group, 6_000) == [
        Answer(Ticket(1), joined(1, "a", "a", "a", "b")),
        Answer(Ticket(2), joined(1, "b", "a")),
    ]
    assert group.state is GroupState.COMPLETING_REBALANCE


def test_the_leaders_assignment_is_stored_before_anyone_gets_it() -> None:
    group = gathered("a", "b")
    assert on_sync(group, sync(10, "b", 1), 6_000) == []
    (store,) = on_sync(group, sync(11, "a", 1, ("a", b"A"), ("b", b"B"), ("stranger", b"?")), 6_100)
    assert isinstance(store, StoreGroup)
    assert [(m.member_id, m.subscription, m.assignment) for m in store.group.members] == [
        ("a", b"sub", b"A"),
        ("b", b"sub", b"B"),
    ]
    assert group.state is GroupState.COMPLETING_REBALANCE
    assert on_stored(group, store.event, 6_200) == [
        Answer(Ticket(11), assigned(b"A")),
        Answer(Ticket(10), assigned(b"B")),
    ]
    assert group.state is GroupState.STABLE
    assert on_sync(group, sync(12, "b", 1), 6_300) == [Answer(Ticket(12), assigned(b"B"))]


def test_an_assignment_too_large_to_store_makes_the_members_try_again() -> None:
    group = gathered("a", "b")
    on_sync(group, sync(10, "b", 1), 6_000)
    (store,) = stores(on_sync(group, sync(11, "a", 1, ("a", b"A")), 6_000))
    failed = SyncAnswer(error=ErrorCode.UNKNOWN_SERVER_ERROR)
    assert on_store_refused(group, store.event, 6_000) == [Answer(Ticket(11), failed), Answer(Ticket(10), failed)]
    assert group.state is GroupState.PREPARING_REBALANCE
    group.check()


def test_an_assignment_stored_too_late_is_not_given_out() -> None:
    group = gathered("a")
    (store,) = stores(on_sync(group, sync(10, "a", 1, ("a", b"A")), 6_000))
    rebalancing = SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS)
    assert on_join(group, join(11, "b"), 6_000) == [Answer(Ticket(10), rebalancing)]
    assert on_stored(group, store.event, 6_000) == []
    assert group.state is GroupState.PREPARING_REBALANCE


def test_a_leader_that_syncs_twice_stores_once() -> None:
    group = gathered("a")
    (store,) = stores(on_sync(group, sync(10, "a", 1, ("a", b"A")), 6_000))
    superseded = SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS)
    assert on_sync(group, sync(11, "a", 1, ("a", b"other")), 6_000) == [Answer(Ticket(10), superseded)]
    assert on_stored(group, store.event, 6_000) == [Answer(Ticket(11), assigned(b"A"))]


def test_a_third_member_makes_everyone_join_again() -> None:
    group = stable("a", "b")
    assert on_join(group, join(20, "c"), 7_000) == []
    assert on_heartbeat(group, "a", 1, None, 7_100) is ErrorCode.REBALANCE_IN_PROGRESS
    assert on_join(group, rejoin(21, "a"), 7_100) == []
    assert on_join(group, rejoin(22, "b"), 7_200) == [
        Answer(Ticket(21), joined(2, "a", "a", "a", "b", "c")),
        Answer(Ticket(22), joined(2, "b", "a")),
        Answer(Ticket(20), joined(2, "c", "a")),
    ]
    group.check()


def test_members_that_do_not_rejoin_in_time_are_left_behind() -> None:
    group = stable("a", "b", a={"session_timeout_ms": 90_000}, b={"session_timeout_ms": 90_000})
    on_join(group, join(20, "c"), 7_000)
    on_join(group, rejoin(21, "b"), 7_000)
    assert on_deadline(group, 7_000 + REBALANCE_MS) == [
        Answer(Ticket(21), joined(2, "b", "b", "b", "c")),
        Answer(Ticket(20), joined(2, "c", "b")),
    ]
    assert on_heartbeat(group, "a", 1, None, 70_000) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_removed_when_its_session_is_over() -> None:
    group = stable("a", "b")
    assert on_heartbeat(group, "a", 1, None, 12_000) is ErrorCode.NONE
    assert on_deadline(group, 6_000 + SESSION_MS) == []
    assert group.state is GroupState.PREPARING_REBALANCE
    assert list(group.members) == ["a"]
    assert on_join(group, rejoin(20, "a"), 17_000) == [Answer(Ticket(20), joined(2, "a", "a", "a"))]


def test_nobody_is_removed_for_silence_that_was_ours() -> None:
    group = stable("a", "b")
    on_pause(group, 90_000)
    assert on_deadline(group, 90_000) == []
    assert set(group.members) == {"a", "b"}
    assert group.deadline() == 90_000 + SESSION_MS
    assert on_deadline(group, 90_000 + SESSION_MS) != []


def test_the_last_member_leaves_and_the_empty_group_is_stored() -> None:
    group = stable("a")
    left, effects = on_leave(group, [LeavingMember("a")], 7_000)
    assert left == (LeftMember("a", None, ErrorCode.NONE),)
    (store,) = stores(effects)
    assert effects == [store]
    assert store.event == GroupEmptied()
    assert (store.group.generation, store.group.protocol, store.group.leader, store.group.members) == (
        2,
        None,
        None,
        (),
    )
    assert group.state is GroupState.EMPTY
    assert group.deadline() is not None
    on_deadline(group, 99_000)
    assert group.deadline() is None


def test_a_member_that_left_waiting_is_told_so() -> None:
    group = stable("a", "b")
    on_join(group, rejoin(20, "a", protocols=(MemberProtocol("range", b"new"),)), 7_000)
    left, effects = on_leave(group, [LeavingMember("a"), LeavingMember("x")], 7_000)
    assert [member.error for member in left] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert effects == [Answer(Ticket(20), refused(ErrorCode.UNKNOWN_MEMBER_ID, "a"))]
    assert group.leader == "b"


def test_members_that_never_sync_are_removed() -> None:
    group = gathered("a", "b", a={"session_timeout_ms": 90_000}, b={"session_timeout_ms": 90_000})
    on_sync(group, sync(10, "b", 1), 6_000)
    assert on_deadline(group, 6_000 + REBALANCE_MS) == [
        Answer(Ticket(10), SyncAnswer(error=ErrorCode.REBALANCE_IN_PROGRESS))
    ]
    assert group.state is GroupState.PREPARING_REBALANCE
    assert list(group.members) == ["b"]


def test_a_follower_that_missed_its_answer_gets_it_again_without_a_rebalance() -> None:
    group = stable("a", "b")
    assert on_join(group, rejoin(20, "b"), 7_000) == [Answer(Ticket(20), joined(1, "b", "a"))]
    assert group.state is GroupState.STABLE


def test_a_leader_that_joins_again_wants_a_rebalance() -> None:
    group = stable("a", "b")
    assert on_join(group, rejoin(20, "a"), 7_000) == []
    assert group.state is GroupState.PREPARING_REBALANCE


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (join(1, "c", protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (join(1, "c", protocols=(MemberProtocol("roundrobin", b""),)), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (join(1, "c", protocols=()), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (rejoin(1, "nobody"), ErrorCode.UNKNOWN_MEMBER_ID),
        (rejoin(1, "a", group_instance_id="i"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_joins_that_are_refused(request_: JoinRequest, error: ErrorCode) -> None:
    group = stable("a", "b")
    assert on_join(group, request_, 7_000) == [Answer(Ticket(1), refused(error, request_.member_id))]
    assert group.state is GroupState.STABLE


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (join(1, "c", session_timeout_ms=5_999), ErrorCode.INVALID_SESSION_TIMEOUT),
        (join(1, "c", session_timeout_ms=1_800_001), ErrorCode.INVALID_SESSION_TIMEOUT),
        (rejoin(1, "nobody", protocols=()), ErrorCode.UNKNOWN_MEMBER_ID),
        (join(1, "c", protocols=()), ErrorCode.NONE),
    ],
)
def test_joins_that_make_no_group(request_: JoinRequest, error: ErrorCode) -> None:
    assert refusal_of_entry(request_, GroupLimits(), is_group=False) is error


def test_a_group_has_no_more_members_than_it_may() -> None:
    group = new_group(GroupLimits(size_max=1, initial_rebalance_delay_ms=0))
    on_join(group, join(1, "a"), 0)
    full = refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert on_join(group, join(2, "b"), 0) == [Answer(Ticket(2), full)]
    assert on_deadline(group, 0) == [Answer(Ticket(1), joined(1, "a", "a", "a"))]
    assert on_join(group, join(3, "b"), 0) == [Answer(Ticket(3), full)]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (sync(1, "nobody", 1), ErrorCode.UNKNOWN_MEMBER_ID),
        (sync(1, "a", 2), ErrorCode.ILLEGAL_GENERATION),
        (sync(1, "a", 0), ErrorCode.ILLEGAL_GENERATION),
        (sync(1, "a", 1, protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (sync(1, "a", 1, protocol="sticky"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_syncs_that_are_refused(request_: SyncRequest, error: ErrorCode) -> None:
    assert on_sync(stable("a"), request_, 7_000) == [Answer(Ticket(1), SyncAnswer(error=error))]


def test_heartbeats_name_the_wrong_generation_and_member() -> None:
    group = stable("a")
    assert on_heartbeat(group, "a", 0, None, 7_000) is ErrorCode.ILLEGAL_GENERATION
    assert on_heartbeat(group, "z", 1, None, 7_000) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_protocol_that_most_prefer_among_the_common_ones_is_chosen() -> None:
    group = new_group()
    for ticket, names in enumerate((["a", "b", "c"], ["b", "c"], ["c", "b"])):
        protocols = tuple(MemberProtocol(name, name.encode()) for name in names)
        on_join(group, join(ticket, f"m{ticket}", protocols=protocols), 0)
    on_deadline(group, 3_000)
    (first, *_) = on_deadline(group, 6_000)
    assert isinstance(first, Answer)
    assert isinstance(first.answer, JoinAnswer)
    assert first.answer.protocol == "b"
    assert {member.metadata for member in first.answer.members} == {b"b"}


STATIC = {"a": {"group_instance_id": "i-a"}, "b": {"group_instance_id": "i-b"}}


def test_a_static_member_returns_without_a_rebalance() -> None:
    group = stable("a", "b", **STATIC)
    (store,) = on_join(group, join(20, "b2", group_instance_id="i-b"), 7_000)
    assert isinstance(store, StoreGroup)
    assert {m.member_id: m.assignment for m in store.group.members} == {"a": b"a", "b2": b"b"}
    answer = joined(1, "b2", "a")
    assert store.event == StaticMemberReplaced("b2", Ticket(20), answer)
    assert on_stored(group, store.event, 7_000) == [Answer(Ticket(20), answer)]
    assert on_sync(group, sync(21, "b2", 1, group_instance_id="i-b"), 7_000) == [Answer(Ticket(21), assigned(b"b"))]
    assert on_heartbeat(group, "b", 1, "i-b", 7_000) is ErrorCode.FENCED_INSTANCE_ID
    assert on_join(group, rejoin(22, "b", group_instance_id="i-b"), 7_000) == [
        Answer(Ticket(22), refused(ErrorCode.FENCED_INSTANCE_ID, "b"))
    ]
    group.check()


@pytest.mark.parametrize(("skips", "leader", "members"), [(True, "a2", ("i-a", "i-b")), (False, "a", ())])
def test_a_static_leader_returns_and_does_not_assign_again(skips: bool, leader: str, members: tuple[str, ...]) -> None:
    group = stable("a", "b", **STATIC)
    request = join(20, "a2", group_instance_id="i-a", supports_skipping_assignment=skips)
    (store,) = stores(on_join(group, request, 7_000))
    ((answered),) = on_stored(group, store.event, 7_000)
    assert isinstance(answered, Answer)
    assert isinstance(answered.answer, JoinAnswer)
    assert (answered.answer.leader, answered.answer.skip_assignment) == (leader, skips)
    assert {member.group_instance_id for member in answered.answer.members} == set(members)


def test_a_second_member_under_one_instance_id_fences_the_first() -> None:
    group = new_group()
    on_join(group, join(1, "a", group_instance_id="i"), 0)
    assert on_join(group, join(2, "a2", group_instance_id="i"), 100) == [
        Answer(Ticket(1), refused(ErrorCode.FENCED_INSTANCE_ID, "a"))
    ]
    members = (JoinedMember("a2", "i", b"sub"),)
    assert on_deadline(group, 3_000) == [Answer(Ticket(2), joined(1, "a2", "a2", members=members))]


def test_a_rebalance_begun_before_a_returned_member_is_stored_answers_it_once() -> None:
    group = stable("a", "b", **STATIC)
    (store,) = stores(on_join(group, join(20, "b2", group_instance_id="i-b"), 7_000))
    on_join(group, join(21, "c"), 7_000)
    assert on_stored(group, store.event, 7_000) == []
    effects = on_join(group, rejoin(22, "a", group_instance_id="i-a"), 7_000)
    assert sorted(effect.ticket for effect in effects if isinstance(effect, Answer)) == [20, 21, 22]
    group.check()


def test_static_members_that_are_away_keep_their_place_until_their_session_ends() -> None:
    long = {"session_timeout_ms": 120_000}
    group = stable("a", "b", a=STATIC["a"] | long, b=STATIC["b"] | long)
    on_join(group, join(20, "c", session_timeout_ms=120_000), 7_000)
    effects = on_deadline(group, 7_000 + REBALANCE_MS)
    assert [effect.ticket for effect in effects if isinstance(effect, Answer)] == [20]
    assert set(group.members) == {"a", "b", "c"}
    assert group.leader == "c"


def test_an_administrator_removes_a_static_member_by_its_instance_id() -> None:
    group = stable("a", "b", **STATIC)
    left, _ = on_leave(group, [LeavingMember("", "i-b"), LeavingMember("", "nobody"), LeavingMember("z", "i-a")], 7_000)
    assert [member.error for member in left] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    ]
    assert list(group.members) == ["a"]


def test_a_new_member_that_nobody_answers_for_minutes_is_taken_for_gone() -> None:
    group = stable("a", a={"session_timeout_ms": 1_000_000, "rebalance_timeout_ms": 1_000_000})
    on_join(group, join(20, "b"), 7_000)
    assert on_deadline(group, 306_999) == []
    assert on_deadline(group, 307_000) == [Answer(Ticket(20), refused(ErrorCode.UNKNOWN_MEMBER_ID, "b"))]


def test_a_loaded_group_goes_on_where_the_log_ends() -> None:
    before = stable("a", "b", **STATIC)
    group = ClassicGroup.loaded(before.stored(), LIMITS, 50_000)
    group.check()
    assert (group.state, group.generation, group.leader) == (GroupState.STABLE, 1, "a")
    assert group.deadline() == 50_000 + SESSION_MS
    assert on_heartbeat(group, "b", 1, "i-b", 51_000) is ErrorCode.NONE
    assert on_sync(group, sync(1, "b", 1), 51_000) == [Answer(Ticket(1), assigned(b"b"))]


def test_generation_assigned_event_names_every_member() -> None:
    group = gathered("a", "b")
    (store,) = stores(on_sync(group, sync(10, "a", 1, ("a", b"A")), 6_000))
    assert store.event == GenerationAssigned(1, (("a", b"A"), ("b", b"")))
