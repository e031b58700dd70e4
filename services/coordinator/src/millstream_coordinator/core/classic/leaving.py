"""LeaveGroup: members that go, by themselves or taken out by an administrator under their instance id."""

from collections.abc import Iterable

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.messages import Effect, LeavingMember, LeftMember
from millstream_coordinator.core.classic.rebalance import complete_join_if_ready, rebalance_or_complete
from millstream_wire.errors import ErrorCode


def on_leave(
    group: ClassicGroup, leaving: Iterable[LeavingMember], now_ms: int
) -> tuple[tuple[LeftMember, ...], list[Effect]]:
    """Take the members out; what to tell each, and the rebalance that follows."""
    before = len(group.members)
    left = tuple(LeftMember(who.member_id, who.group_instance_id, _leave(group, who)) for who in leaving)
    if len(group.members) < before:
        rebalance_or_complete(group, now_ms)
    else:
        complete_join_if_ready(group, now_ms)
    return left, group.take_effects()


def _leave(group: ClassicGroup, who: LeavingMember) -> ErrorCode:
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    member_id = who.member_id
    if not member_id and who.group_instance_id is not None:
        member_id = group.static_members.get(who.group_instance_id, "")
    elif group.pending_members.pop(member_id, None) is not None:
        return ErrorCode.NONE
    if error := group.refusal(member_id, who.group_instance_id):
        return error
    group.remove_member(member_id)
    return ErrorCode.NONE
