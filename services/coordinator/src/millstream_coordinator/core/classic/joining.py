"""JoinGroup: who is let in, who has to come back with an id, and whether the group has to rebalance for it."""

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.limits import ClassicLimits
from millstream_coordinator.core.classic.member import Member
from millstream_coordinator.core.classic.messages import Effect, JoinAnswer, JoinRequest, StaticMemberReplaced
from millstream_coordinator.core.classic.policy import admits
from millstream_coordinator.core.classic.rebalance import (
    complete_join_if_ready,
    prepare_rebalance,
    rebalance_or_complete,
)
from millstream_wire.errors import ErrorCode

PENDING_MEMBERS_MAX = 10_000
"""Ids given out and not yet joined with, per group: clients that never come back must not fill the memory."""


def refusal_of_entry(request: JoinRequest, limits: ClassicLimits, *, is_group: bool) -> ErrorCode:
    """Why the request has nothing to do with any group, or NONE; one that is refused later has made its group."""
    if not limits.session_timeout_min_ms <= request.session_timeout_ms <= limits.session_timeout_max_ms:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    return ErrorCode.UNKNOWN_MEMBER_ID if request.member_id and not is_group else ErrorCode.NONE


def on_join(group: ClassicGroup, request: JoinRequest, now_ms: int) -> list[Effect]:
    """Let the member join, now or when the rebalance that this begins is complete."""
    if group.state is GroupState.DEAD:
        _refuse(group, request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not admits(group, request):
        _exclude(group, request, ErrorCode.GROUP_AUTHORIZATION_FAILED, now_ms)
    elif not _has_room(group, request.member_id):
        _exclude(group, request, ErrorCode.GROUP_MAX_SIZE_REACHED, now_ms)
    elif not group.supports(request.protocol_type, request.protocols):
        _refuse(group, request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif request.member_id == "":
        _join_new(group, request, now_ms)
    elif request.member_id in group.pending_members and request.group_instance_id is None:
        _add(group, request, request.member_id, now_ms)
    elif error := group.refusal(request.member_id, request.group_instance_id):
        _refuse(group, request, error)
    else:
        _join_again(group, group.members[request.member_id], request, now_ms)
    return group.take_effects()


def _refuse(group: ClassicGroup, request: JoinRequest, error: ErrorCode) -> None:
    group.answer_join(request.ticket, JoinAnswer(error=error, member_id=request.member_id))


def _exclude(group: ClassicGroup, request: JoinRequest, error: ErrorCode, now_ms: int) -> None:
    """Refuse it, and if it is a member it is one no longer."""
    if request.member_id in group.members:
        group.remove_member(request.member_id, error)
        rebalance_or_complete(group, now_ms)
    _refuse(group, request, error)


def _has_room(group: ClassicGroup, member_id: str) -> bool:
    """While a rebalance gathers members only those who joined it count: so a group that is too large shrinks."""
    member = group.members.get(member_id)
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return (member is not None and member.join_ticket is not None) or group.joined < group.limits.size_max
        case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            return member is not None or len(group.members) < group.limits.size_max
        case _:
            return True


def _join_new(group: ClassicGroup, request: JoinRequest, now_ms: int) -> None:
    instance = request.group_instance_id
    if instance is not None and instance in group.static_members:
        _replace_static(group, instance, request, now_ms)
    elif instance is None and request.requires_known_member_id:
        _give_id(group, request, now_ms)
    else:
        _add(group, request, request.new_member_id, now_ms)


def _give_id(group: ClassicGroup, request: JoinRequest, now_ms: int) -> None:
    if len(group.pending_members) >= PENDING_MEMBERS_MAX:
        _refuse(group, request, ErrorCode.GROUP_MAX_SIZE_REACHED)
        return
    deadline_ms = now_ms + request.session_timeout_ms
    group.pending_members[request.new_member_id] = deadline_ms
    group.wake_at(deadline_ms)
    answer = JoinAnswer(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=request.new_member_id)
    group.answer_join(request.ticket, answer)


def _add(group: ClassicGroup, request: JoinRequest, member_id: str, now_ms: int) -> None:
    if not group.members:
        group.protocol_type = request.protocol_type
    member = Member.joining(member_id, request)
    group.new_member_added |= group.state is GroupState.PREPARING_REBALANCE and group.initial
    group.add_member(member)
    group.wait_for_join(member, request.ticket)
    member.deadline_ms = now_ms + group.limits.new_member_join_timeout_ms
    group.wake_at(member.deadline_ms)
    rebalance_or_complete(group, now_ms)


def _join_again(group: ClassicGroup, member: Member, request: JoinRequest, now_ms: int) -> None:
    """A known member: it may only have missed the answer, in which case nobody else has to be disturbed."""
    same = member.protocols == request.protocols
    match group.state:
        case GroupState.COMPLETING_REBALANCE if same:
            group.answer_join(request.ticket, _current(group, member))
        case GroupState.STABLE if same and group.leader != member.member_id:
            group.answer_join(request.ticket, _current(group, member))
        case GroupState.PREPARING_REBALANCE | GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            _update(group, member, request)
            rebalance_or_complete(group, now_ms)
        case _:
            _refuse(group, request, ErrorCode.UNKNOWN_MEMBER_ID)


def _update(group: ClassicGroup, member: Member, request: JoinRequest) -> None:
    group.change_member(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms)
    group.wait_for_join(member, request.ticket)


def _current(group: ClassicGroup, member: Member) -> JoinAnswer:
    """The generation as it is; the leader also learns its members."""
    leads = group.leader == member.member_id
    return JoinAnswer(
        member_id=member.member_id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=group.leader or "",
        members=group.joined_members() if leads else (),
    )


def _replace_static(group: ClassicGroup, instance: str, request: JoinRequest, now_ms: int) -> None:
    """A static member came back without its id: it takes its own place, in a stable group without a rebalance."""
    leader_before = group.leader
    member = group.replace_static_member(instance, request.new_member_id)
    member.is_new = False
    _update(group, member, request)
    group.hear_from(member, now_ms)
    match group.state:
        case GroupState.STABLE if group.select_protocol() == group.protocol:
            answer = _returning(group, member, request, leader_before or "")
            group.store(group.stored(), StaticMemberReplaced(member.member_id, request.ticket, answer))
        case GroupState.STABLE | GroupState.COMPLETING_REBALANCE:
            prepare_rebalance(group, now_ms)
        case _:
            complete_join_if_ready(group, now_ms)


def _returning(group: ClassicGroup, member: Member, request: JoinRequest, leader_before: str) -> JoinAnswer:
    """Tell the member its generation. One that led must not assign again: old clients are not told that they lead."""
    leads = group.leader == member.member_id
    skips = leads and request.supports_skipping_assignment
    return JoinAnswer(
        member_id=member.member_id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        leader=(group.leader or "") if request.supports_skipping_assignment else leader_before,
        skip_assignment=skips,
        members=group.joined_members() if skips else (),
    )
