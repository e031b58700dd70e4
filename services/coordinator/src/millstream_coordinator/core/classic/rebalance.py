"""The course of a rebalance: gather the members, begin a generation, or find that nobody is left."""

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.messages import GroupEmptied, JoinAnswer, SyncAnswer
from millstream_wire.errors import ErrorCode

GENERATION_MAX = 2**31 - 1


def rebalance_or_complete(group: ClassicGroup, now_ms: int) -> None:
    """The members changed: begin to rebalance, or see whether the rebalance under way has everyone now."""
    match group.state:
        case GroupState.EMPTY | GroupState.STABLE | GroupState.COMPLETING_REBALANCE:
            prepare_rebalance(group, now_ms)
        case GroupState.PREPARING_REBALANCE:
            complete_join_if_ready(group, now_ms)
        case GroupState.DEAD:
            pass


def prepare_rebalance(group: ClassicGroup, now_ms: int) -> None:
    """From here on members learn by heartbeat that they have to join again."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        forget_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
    group.pending_syncs.clear()
    group.sync_deadline_ms = None
    group.storing_generation = None
    group.initial = group.state is GroupState.EMPTY
    group.new_member_added = False
    group.transition(GroupState.PREPARING_REBALANCE, now_ms)
    if group.initial:
        delay_ms = group.limits.initial_rebalance_delay_ms
        group.initial_remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        _complete_join_at(group, now_ms + delay_ms)
    elif group.all_joined:
        complete_join(group, now_ms)
    else:
        _complete_join_at(group, now_ms + group.rebalance_timeout_ms)


def complete_join_if_ready(group: ClassicGroup, now_ms: int) -> None:
    """Do not wait for the time to be over if everyone is here; an initial rebalance waits for those it does not know."""
    if group.state is GroupState.PREPARING_REBALANCE and group.all_joined and not group.initial:
        complete_join(group, now_ms)


def on_join_deadline(group: ClassicGroup, now_ms: int) -> None:
    """The time to join is over; while new members keep coming, an initial rebalance waits on."""
    if group.initial and group.new_member_added and group.initial_remaining_ms > 0:
        group.new_member_added = False
        delay_ms = min(group.limits.initial_rebalance_delay_ms, group.initial_remaining_ms)
        group.initial_remaining_ms -= delay_ms
        _complete_join_at(group, now_ms + delay_ms)
    else:
        complete_join(group, now_ms)


def complete_join(group: ClassicGroup, now_ms: int) -> None:
    """Begin the next generation with those who joined, and static members that may yet return within their session."""
    late = [m.member_id for m in group.members.values() if m.join_ticket is None and not m.is_static]
    for member_id in late:
        group.remove_member(member_id)
    if group.members and not _elect_joined_leader(group):
        # Only static members that are away: nobody could assign. Their sessions end this, or one comes back.
        _complete_join_at(group, now_ms + group.rebalance_timeout_ms)
        return
    group.join_deadline_ms = None
    group.initial = False
    group.generation = group.generation % GENERATION_MAX + 1
    if group.members:
        _begin_generation(group, now_ms)
    else:
        group.protocol = None
        group.transition(GroupState.EMPTY, now_ms)
        group.store(group.stored(), GroupEmptied())


def forget_assignment(group: ClassicGroup, error: ErrorCode, now_ms: int) -> None:
    """Tell everyone who waits for an assignment of this generation that there will be none."""
    for member in group.members.values():
        member.assignment = b""
        if member.sync_ticket is not None:
            group.finish_sync(member, SyncAnswer(error=error))
            group.hear_from(member, now_ms)


def _complete_join_at(group: ClassicGroup, time_ms: int) -> None:
    group.join_deadline_ms = time_ms
    group.wake_at(time_ms)


def _elect_joined_leader(group: ClassicGroup) -> bool:
    """Keep the leader if it joined, else take another who did."""
    leader = group.members.get(group.leader or "")
    if leader is None or leader.join_ticket is None:
        leader = next((member for member in group.members.values() if member.join_ticket is not None), None)
    if leader is None:
        return False
    group.leader = leader.member_id
    return True


def _begin_generation(group: ClassicGroup, now_ms: int) -> None:
    group.protocol = group.select_protocol()
    group.transition(GroupState.COMPLETING_REBALANCE, now_ms)
    for member in group.members.values():
        answer = JoinAnswer(
            member_id=member.member_id,
            generation=group.generation,
            protocol_type=group.protocol_type,
            protocol=group.protocol,
            leader=group.leader or "",
            members=group.joined_members() if member.member_id == group.leader else (),
        )
        group.finish_join(member, answer)
        member.is_new = False
        group.hear_from(member, now_ms)
        group.pending_syncs.add(member.member_id)
    group.sync_deadline_ms = now_ms + group.rebalance_timeout_ms
    group.wake_at(group.sync_deadline_ms)
