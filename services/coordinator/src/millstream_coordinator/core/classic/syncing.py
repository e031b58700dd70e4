"""SyncGroup: the leader hands in the assignment, it is stored, and then every member gets its own."""

from typing import assert_never

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.member import Member
from millstream_coordinator.core.classic.messages import (
    Effect,
    GenerationAssigned,
    GroupEmptied,
    JoinAnswer,
    StaticMemberReplaced,
    StoredEvent,
    SyncAnswer,
    SyncRequest,
)
from millstream_coordinator.core.classic.policy import handed_out
from millstream_coordinator.core.classic.rebalance import forget_assignment, prepare_rebalance
from millstream_wire.errors import ErrorCode


def on_sync(group: ClassicGroup, request: SyncRequest, now_ms: int) -> list[Effect]:
    """Answer with the member's assignment, or let it wait until there is one."""
    if error := _refusal(group, request):
        group.answer_sync(request.ticket, SyncAnswer(error=error))
        return group.take_effects()
    member = group.members[request.member_id]
    group.settle_sync(member.member_id)
    if group.state is GroupState.STABLE:
        group.answer_sync(request.ticket, _assigned(group, member))
    else:
        group.wait_for_sync(member, request.ticket)
        if group.leader == member.member_id and group.storing_generation is None:
            _store(group, dict(request.assignments))
    return group.take_effects()


def on_stored(group: ClassicGroup, event: StoredEvent, now_ms: int) -> list[Effect]:
    """The log has what the group asked to be stored; the group may have moved on meanwhile."""
    match event:
        case GenerationAssigned():
            if group.storing_generation == event.generation:
                _hand_out(group, dict(event.assignments), now_ms)
        case StaticMemberReplaced():
            member = group.members.get(event.member_id)
            # In a rebalance begun meanwhile this very request counts as the member's join.
            if member is not None and member.join_ticket == event.ticket and group.state is GroupState.STABLE:
                group.finish_join(member, event.answer)
                group.hear_from(member, now_ms)
        case GroupEmptied():
            pass
        case _:
            assert_never(event)
    return group.take_effects()


def on_store_refused(group: ClassicGroup, event: StoredEvent, now_ms: int) -> list[Effect]:
    """The log will not take it (it is too large): nobody can have this assignment, so the members have to try anew."""
    match event:
        case GenerationAssigned():
            if group.storing_generation == event.generation:
                forget_assignment(group, ErrorCode.UNKNOWN_SERVER_ERROR, now_ms)
                prepare_rebalance(group, now_ms)
        case StaticMemberReplaced():
            member = group.members.get(event.member_id)
            if member is not None and member.join_ticket == event.ticket:
                group.finish_join(member, JoinAnswer(error=ErrorCode.UNKNOWN_SERVER_ERROR, member_id=event.member_id))
        case GroupEmptied():
            pass
        case _:
            assert_never(event)
    return group.take_effects()


def _refusal(group: ClassicGroup, request: SyncRequest) -> ErrorCode:
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error := group.refusal(request.member_id, request.group_instance_id):
        return error
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type not in (None, group.protocol_type) or request.protocol not in (None, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _assigned(group: ClassicGroup, member: Member) -> SyncAnswer:
    return SyncAnswer(protocol_type=group.protocol_type, protocol=group.protocol, assignment=member.assignment)


def _store(group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    group.storing_generation = group.generation
    complete = handed_out(group, {member_id: assignments.get(member_id, b"") for member_id in group.members})
    event = GenerationAssigned(group.generation, tuple(complete.items()))
    group.store(group.stored(complete), event)


def _hand_out(group: ClassicGroup, assignments: dict[str, bytes], now_ms: int) -> None:
    group.storing_generation = None
    group.transition(GroupState.STABLE, now_ms)
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
        if member.sync_ticket is not None:
            group.finish_sync(member, _assigned(group, member))
            group.hear_from(member, now_ms)
