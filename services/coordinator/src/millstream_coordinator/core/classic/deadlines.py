"""What time does to a classic group: heartbeats keep members, silence removes them, phases of a rebalance end."""

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.messages import Effect
from millstream_coordinator.core.classic.rebalance import (
    complete_join_if_ready,
    on_join_deadline,
    prepare_rebalance,
    rebalance_or_complete,
)
from millstream_wire.errors import ErrorCode


def on_heartbeat(
    group: ClassicGroup, member_id: str, generation: int, group_instance_id: str | None, now_ms: int
) -> ErrorCode:
    """Keep the member's session; it learns here that it has to join again. Nothing else changes, so nobody waits."""
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if error := group.refusal(member_id, group_instance_id):
        return error
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    group.hear_from(group.members[member_id], now_ms)
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def on_deadline(group: ClassicGroup, now_ms: int) -> list[Effect]:
    """Do all that is due. Calling it early does no harm."""
    _expire_pending_members(group, now_ms)
    _expire_sessions(group, now_ms)
    if group.sync_deadline_ms is not None and group.sync_deadline_ms <= now_ms:
        _expire_syncs(group, now_ms)
    if group.join_deadline_ms is not None and group.join_deadline_ms <= now_ms:
        on_join_deadline(group, now_ms)
    group.reckon_deadline()
    return group.take_effects()


def on_pause(group: ClassicGroup, now_ms: int) -> None:
    """Time passed in which nobody could be heard: every session starts anew."""
    for member in group.members.values():
        member.deadline_ms = max(member.deadline_ms, now_ms + member.session_timeout_ms)
        group.wake_at(member.deadline_ms)


def _expire_pending_members(group: ClassicGroup, now_ms: int) -> None:
    expired = [member_id for member_id, deadline_ms in group.pending_members.items() if deadline_ms <= now_ms]
    for member_id in expired:
        del group.pending_members[member_id]
    if expired:
        complete_join_if_ready(group, now_ms)


def _expire_sessions(group: ClassicGroup, now_ms: int) -> None:
    expired = []
    for member in group.members.values():
        if member.deadline_ms > now_ms:
            continue
        if member.awaits_answer and not member.is_new:
            group.hear_from(member, now_ms)  # it is we who keep it waiting
        else:
            expired.append(member.member_id)
    for member_id in expired:
        group.remove_member(member_id)
    if expired:
        rebalance_or_complete(group, now_ms)


def _expire_syncs(group: ClassicGroup, now_ms: int) -> None:
    """Members that joined and then never asked for their assignment hold partitions that nobody reads."""
    for member_id in list(group.pending_syncs):
        group.remove_member(member_id)
    prepare_rebalance(group, now_ms)
