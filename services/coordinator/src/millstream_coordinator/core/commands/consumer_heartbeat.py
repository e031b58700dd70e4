"""ConsumerGroupHeartbeat: one request by which a member joins, says what it wants and has, and learns what it should have.

The steps: who is it (`admission`), did anything change that asks for a new target (`targeting`), how does the member get
from what it has to its target (`reconciliation`).
"""

from collections.abc import Callable
from dataclasses import replace

from millstream_cluster.decision import Change, Decision
from millstream_cluster.image import Image
from millstream_coordinator.core.commands.consumer_leaving import dismiss, on_leave
from millstream_coordinator.core.commands.conversion import enter, limits_of
from millstream_coordinator.core.consumer.admission import admit
from millstream_coordinator.core.consumer.draft import ConsumerDraft
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.consumer.member import NOTHING, CurrentAssignment, MemberState
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.consumer.reconciliation import reconcile
from millstream_coordinator.core.consumer.targeting import make_target, resolve_regexes
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer, Refused
from millstream_coordinator.core.group.sessions import MemberHeard, MetadataSeen, RevocationAwaited, RevocationEnded
from millstream_coordinator.core.group.subscriptions import metadata_hash
from millstream_coordinator.core.group_shard.changes import ClassicDismissed
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import size_of
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX
from millstream_wire.errors import ErrorCode

SMALL_CHANGE = 3
"""So few records need not be measured: one member's own are bounded by its request."""


def on_heartbeat(
    shard: GroupShard, request: HeartbeatRequest, image: Image, now_ms: int
) -> Decision[ShardRecord, HeartbeatAnswer]:
    if request.leaves:
        return on_leave(shard, request, image, now_ms)
    try:
        return _heartbeat(shard, request, image, now_ms)
    except Refused as refused:
        return Decision((), refused.answer)


def _heartbeat(
    shard: GroupShard, request: HeartbeatRequest, image: Image, now_ms: int
) -> Decision[ShardRecord, HeartbeatAnswer]:
    group_id, member_id = request.group_id, request.member_id
    limits = limits_of(shard, group_id, image)
    converted, group = enter(shard, group_id, limits, image, may_begin=request.joins)
    draft = ConsumerDraft(group)
    has_changed = admit(draft, request, limits)
    may_go = not request.joins or request.classic is not None
    if limits.policy.drains and may_go and not draft.group.current(member_id).owned:
        return dismiss(shard, draft, member_id, image, now_ms)
    metadata_is_new = shard.sessions.metadata_offsets.get(group_id) != image.offset
    delay_ms = _refresh(
        draft, image, limits, now_ms, has_changed=has_changed, metadata_is_new=metadata_is_new, may_see=request.may_see
    )
    before = draft.group.current(member_id)
    after = _reconciled(draft, request, before)
    if after != before or member_id not in draft.group.currents:
        draft.put_current(member_id, after)
    records = (*converted, *draft.records)
    if len(records) > SMALL_CHANGE and sum(map(size_of, records)) > COMMAND_BYTES_MAX:
        raise Refused(ErrorCode.INVALID_REQUEST, "The group's subscriptions or assignments are too large to be stored.")
    then: list[Change] = _take_over(group, now_ms) if group_id in shard.groups else []
    then += [MetadataSeen(group_id, image.offset), *_keep_alive(request, draft, after, limits, now_ms)]
    told_before = shard.consumers[group_id].current(member_id) if group_id in shard.consumers else NOTHING
    tells = request.is_full or after.assigned.keys() != told_before.assigned.keys()
    answer = HeartbeatAnswer(
        member_id=member_id,
        member_epoch=after.epoch,
        heartbeat_interval_ms=limits.interval_ms(settles=_settles(draft.group, after, limits, now_ms), due_ms=delay_ms),
        assignment=frozenset(after.assigned) if tells else None,
    )
    return Decision(records, answer, tuple(then))


def _take_over(group: ConsumerGroup, now_ms: int) -> list[Change]:
    """End the classic group in memory; its members, if any, live on as classic members of the new one."""
    heard: list[Change] = [
        MemberHeard((group.group_id, member_id), now_ms + member.classic.session_timeout_ms)
        for member_id, member in group.members.items()
        if member.classic is not None
    ]
    return [*heard, ClassicDismissed(group.group_id)]


def _refresh(
    draft: ConsumerDraft,
    image: Image,
    limits: ConsumerLimits,
    now_ms: int,
    *,
    has_changed: bool,
    metadata_is_new: bool,
    may_see: Callable[[str], bool] | None,
) -> int:
    """See to it that the target is of now; return in how many ms one is due that has to wait, or 0."""
    resolve_regexes(draft, image, now_ms, again=metadata_is_new, may_see=may_see)
    if has_changed or metadata_is_new:
        hashed = metadata_hash(draft.group.subscribed_topics(), image, limits.policy)
        if has_changed or hashed != draft.group.metadata_hash:
            draft.raise_epoch(hashed)
    group = draft.group
    if group.epoch == group.assignment_epoch:
        return 0
    due_ms = group.assignment_timestamp_ms + limits.assignment_interval_ms
    if due_ms > now_ms:
        return min(due_ms - now_ms, limits.assignment_interval_ms)
    make_target(draft, image, now_ms, limits.policy)
    return 0


def _reconciled(draft: ConsumerDraft, request: HeartbeatRequest, before: CurrentAssignment) -> CurrentAssignment:
    group, member_id = draft.group, request.member_id
    if before.epoch < 0:
        # A static member that comes back after it said that it would.
        before = replace(before, epoch=0, previous_epoch=0)
    return reconcile(
        before,
        target=group.target(member_id),
        target_epoch=group.assignment_epoch,
        reported=request.reported,
        is_free=lambda partition: group.owners.get(partition, member_id) == member_id,
    )


def _settles(group: ConsumerGroup, after: CurrentAssignment, limits: ConsumerLimits, now_ms: int) -> bool:
    """Whether the member waits for what others have yet to give up, or the target is so new that the next may follow."""
    age_ms = now_ms - group.assignment_timestamp_ms
    return after.state is MemberState.UNRELEASED_PARTITIONS or 0 <= age_ms < limits.heartbeat_interval_ms


def _keep_alive(
    request: HeartbeatRequest, draft: ConsumerDraft, current: CurrentAssignment, limits: ConsumerLimits, now_ms: int
) -> tuple[Change, Change]:
    key = (request.group_id, request.member_id)
    classic = request.classic
    heard = MemberHeard(key, now_ms + (limits.session_timeout_ms if classic is None else classic.session_timeout_ms))
    if current.state is not MemberState.UNREVOKED_PARTITIONS:
        return heard, RevocationEnded(key)
    timeout_ms = draft.group.members[request.member_id].rebalance_timeout_ms
    return heard, RevocationAwaited(key, now_ms + timeout_ms)
