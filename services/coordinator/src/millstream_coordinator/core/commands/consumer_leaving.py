"""Members that go: by themselves, for a while (static ones), or because nothing was heard of them for too long."""

from dataclasses import replace

from millstream_cluster.decision import Change, Decision
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_coordinator.core.commands.share_leaving import without_members
from millstream_coordinator.core.consumer.admission import check_static
from millstream_coordinator.core.consumer.draft import ConsumerDraft
from millstream_coordinator.core.consumer.member import MemberState
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.consumer.records import CurrentStored
from millstream_coordinator.core.group.epochs import STATIC_LEAVING_EPOCH
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer, Refused
from millstream_coordinator.core.group.sessions import (
    GroupForgotten,
    MemberForgotten,
    MemberKey,
    RevocationEnded,
    SilenceNoticed,
)
from millstream_coordinator.core.group_shard.changes import ClassicBegun
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.record_format import size_of
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX
from millstream_coordinator.core.migration.migration import downgrade, must_downgrade
from millstream_wire.errors import ErrorCode

DOWNGRADE_BYTES_MAX = COMMAND_BYTES_MAX // 4
"""Several groups may lose their members at once, and what one command writes has to fit into one batch."""
REMOVED_MAX = 1_000
"""Members that one decision removes: their tombstones go to the log as one batch."""


def on_leave(
    shard: GroupShard, request: HeartbeatRequest, image: Image, now_ms: int
) -> Decision[ShardRecord, HeartbeatAnswer]:
    """A heartbeat with an epoch that says goodbye."""
    group = shard.consumers.get(request.group_id)
    if group is None:
        missing = Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} not found.")
        return Decision((), missing.answer)
    draft, member_id = ConsumerDraft(group), request.member_id
    try:
        check_static(draft, request.instance_id, member_id)
    except Refused as refused:
        return Decision((), refused.answer)
    if member_id not in group.members:
        stranger = Refused(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}."
        )
        return Decision((), stranger.answer)
    if request.member_epoch == STATIC_LEAVING_EPOCH:
        # What it was giving up it does not have any more; the rest waits for it until its session ends.
        left = replace(group.current(member_id), epoch=STATIC_LEAVING_EPOCH, state=MemberState.STABLE, revoking={})
        draft.write(CurrentStored(group.group_id, member_id, left))
        gone: Change = RevocationEnded((group.group_id, member_id))
    else:
        draft.write(*group.member_tombstones(member_id))
        draft.raise_epoch()
        gone = MemberForgotten((group.group_id, member_id))
    records, then = settled(shard, draft, image, now_ms)
    answer = HeartbeatAnswer(member_id=member_id, member_epoch=request.member_epoch)
    return Decision(records, answer, (gone, *then))


def dismiss(
    shard: GroupShard, draft: ConsumerDraft, member_id: str, image: Image, now_ms: int
) -> Decision[ShardRecord, HeartbeatAnswer]:
    """The group is being drained, and the member gave up all it had: it has to go."""
    group_id = draft.group.group_id
    draft.write(*draft.group.member_tombstones(member_id))
    draft.raise_epoch()
    drained = Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"Group {group_id} is being drained.")
    records, then = settled(shard, draft, image, now_ms)
    return Decision(records, drained.answer, (MemberForgotten((group_id, member_id)), *then))


def remove_silent(shard: GroupShard, image: Image, now_ms: int) -> Decision[ShardRecord, tuple[MemberKey, ...]]:
    """Remove the members whose time is over; who they are. Those who are left are assigned anew when they are heard of."""
    drafts: dict[str, ConsumerDraft] = {}
    removed: list[MemberKey] = []
    of_shares: list[MemberKey] = []
    due = shard.sessions.due(now_ms, REMOVED_MAX)
    for group_id, member_id in due:
        share, group = shard.shares.get(group_id), shard.consumers.get(group_id)
        if share is not None and member_id in share.members:
            of_shares.append((group_id, member_id))
        elif group is not None and member_id in group.members:
            draft = drafts.setdefault(group_id, ConsumerDraft(group))
            draft.write(*draft.group.member_tombstones(member_id))
            removed.append((group_id, member_id))
    records: list[ShardRecord] = []
    then: list[Change] = [SilenceNoticed(now_ms, tuple(due))]
    for draft in drafts.values():
        draft.raise_epoch()
        of_group, changes = settled(shard, draft, image, now_ms)
        records += of_group
        then += changes
    return Decision((*records, *without_members(shard, of_shares)), (*removed, *of_shares), tuple(then))


def settled(
    shard: GroupShard, draft: ConsumerDraft, image: Image, now_ms: int
) -> tuple[tuple[ShardRecord, ...], tuple[Change, ...]]:
    """The records of a group that some left; if only classic members are left, those that make it a classic group."""
    group_id = draft.group.group_id
    limits = shard.limits.of_group(image.config(ResourceType.GROUP, group_id))
    if not must_downgrade(draft.group, limits.consumer):
        return tuple(draft.records), ()
    records, classic = downgrade(draft, image, limits, now_ms)
    if sum(map(size_of, records)) > DOWNGRADE_BYTES_MAX:
        return tuple(draft.records), ()  # its members are as well off as they are
    return records, (GroupForgotten(group_id), ClassicBegun(classic))
