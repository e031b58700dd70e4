"""ShareGroupHeartbeat: one request by which a member joins, says what it wants, and learns what it should read (KIP-932).

The steps: who is it, did anything change that asks for a new target, what is it told. A member reads what it is told at once:
others may read the same.
"""

from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_coordinator.core.commands.share_leaving import on_share_leave
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer, Refused
from millstream_coordinator.core.group.sessions import MemberHeard, MetadataSeen
from millstream_coordinator.core.group.subscriptions import metadata_hash
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import size_of
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX
from millstream_coordinator.core.share.draft import ShareDraft
from millstream_coordinator.core.share.group import ShareGroup
from millstream_coordinator.core.share.limits import ShareLimits
from millstream_coordinator.core.share.member import ShareCurrent, ShareMember
from millstream_coordinator.core.share.messages import ShareHeartbeatAnswer, ShareHeartbeatRequest
from millstream_coordinator.core.share.records import ShareCurrentStored, ShareMemberStored
from millstream_coordinator.core.share.targeting import begin_state, make_target
from millstream_wire.errors import ErrorCode

SMALL_CHANGE = 2
"""So few records need not be measured: one member's own are bounded by its request."""


def on_share_heartbeat(
    shard: GroupShard, request: ShareHeartbeatRequest, image: Image, now_ms: int
) -> Decision[ShardRecord, ShareHeartbeatAnswer]:
    if request.leaves:
        return on_share_leave(shard, request)
    try:
        return _heartbeat(shard, request, image, now_ms)
    except Refused as refused:
        return Decision((), ShareHeartbeatAnswer(refused.answer))


def share_limits_of(shard: GroupShard, group_id: str, image: Image) -> ShareLimits:
    return shard.limits.share.of_group(image.config(ResourceType.GROUP, group_id))


def _heartbeat(
    shard: GroupShard, request: ShareHeartbeatRequest, image: Image, now_ms: int
) -> Decision[ShardRecord, ShareHeartbeatAnswer]:
    group_id, member_id = request.group_id, request.member_id
    limits = share_limits_of(shard, group_id, image)
    draft = ShareDraft(_enter(shard, request))
    has_changed = _admit(draft, request, limits)
    metadata_is_new = shard.sessions.metadata_offsets.get(group_id) != image.offset
    if has_changed or metadata_is_new:
        hashed = metadata_hash(draft.group.subscribed_topics(), image, limits.policy)
        if has_changed or hashed != draft.group.metadata_hash:
            draft.raise_epoch(hashed)
        begin_state(draft, image, limits.policy)
    group = draft.group
    if group.epoch > group.assignment_epoch and _is_due(group, limits, now_ms):
        make_target(draft, image, now_ms, limits.policy)
    before = draft.group.current(member_id)
    after = _told(draft.group, member_id, before)
    if after != before or member_id not in draft.group.currents:
        draft.write(ShareCurrentStored(group_id, member_id, after))
    records = tuple(draft.records)
    if len(records) > SMALL_CHANGE and sum(map(size_of, records)) > COMMAND_BYTES_MAX:
        raise Refused(ErrorCode.INVALID_REQUEST, "The group's subscriptions or assignments are too large to be stored.")
    group = draft.group
    settles = group.epoch > group.assignment_epoch or bool(group.kept.initializing)
    tells = request.topics is not None or request.member_epoch != after.epoch or after.assigned != before.assigned
    answer = HeartbeatAnswer(
        member_id=member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=limits.interval_ms(settles=settles),
        assignment=after.assigned if tells else None,
    )
    heard = MemberHeard((group_id, member_id), now_ms + limits.session_timeout_ms)
    reply = ShareHeartbeatAnswer(answer, group.kept.initializing, group.epoch)
    return Decision(records, reply, (MetadataSeen(group_id, image.offset), heard))


def _is_due(group: ShareGroup, limits: ShareLimits, now_ms: int) -> bool:
    """A target that gave nobody anything keeps nobody from the next."""
    has_passed = group.assignment_timestamp_ms + limits.assignment_interval_ms <= now_ms
    return has_passed or not any(group.targets.values())


def _enter(shard: GroupShard, request: ShareHeartbeatRequest) -> ShareGroup:
    """The share group of this id, a new one if this member may be its first."""
    group_id = request.group_id
    group = shard.shares.get(group_id)
    if group is not None:
        return group
    if shard.knows(group_id) or any(shard.pending.of_group(group_id)):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    if not request.joins:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")
    return ShareGroup(group_id)


def _admit(draft: ShareDraft, request: ShareHeartbeatRequest, limits: ShareLimits) -> bool:
    """Let the member in with what it says of itself; whether that asks for a new assignment. Raises Refused."""
    group_id, member_id = request.group_id, request.member_id
    before = draft.group.members.get(member_id)
    if undeclared := limits.policy.undeclared(request.topics or ()):
        message = f"Group {group_id} is for declared topics only, not for {', '.join(undeclared[:10])}."
        raise Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, message)
    if request.joins:
        if before is None and limits.policy.admits_nobody:
            raise Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"Group {group_id} admits no members now.")
        if before is None and len(draft.group.members) >= limits.size_max:
            raise Refused(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {limits.size_max} members.",
            )
    elif before is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")
    else:
        _check_epoch(draft.group.current(member_id), request.member_epoch)
    after = _updated(before, request)
    if after == before:
        return False
    draft.write(ShareMemberStored(group_id, member_id, after))
    return before is None or after.topics != before.topics


def _check_epoch(current: ShareCurrent, epoch: int) -> None:
    """The epoch must be the member's; the one before is good if it lost our answer."""
    if epoch in (current.epoch, current.previous_epoch):
        return
    relation = "greater" if epoch > current.epoch else "smaller"
    raise Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The share group member has a {relation} member epoch ({epoch}) than the one known by the group coordinator "
        f"({current.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _updated(before: ShareMember | None, request: ShareHeartbeatRequest) -> ShareMember:
    """What the member says now, over what it said before."""
    known = before if before is not None else ShareMember(member_id=request.member_id)
    return ShareMember(
        member_id=request.member_id,
        rack_id=known.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topics=known.topics if request.topics is None else tuple(sorted(set(request.topics))),
    )


def _told(group: ShareGroup, member_id: str, before: ShareCurrent) -> ShareCurrent:
    target = group.target(member_id)
    if before.epoch == group.assignment_epoch and before.assigned == target:
        return before
    return ShareCurrent(epoch=group.assignment_epoch, previous_epoch=before.epoch, assigned=target)
