"""Members of share groups that go: by themselves, or because nothing was heard of them for too long."""

from collections.abc import Iterable

from millstream_cluster.decision import Decision
from millstream_coordinator.core.group.heartbeats import HeartbeatAnswer, Refused
from millstream_coordinator.core.group.sessions import MemberForgotten, MemberKey
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.share.draft import ShareDraft
from millstream_coordinator.core.share.messages import ShareHeartbeatAnswer, ShareHeartbeatRequest
from millstream_wire.errors import ErrorCode


def on_share_leave(shard: GroupShard, request: ShareHeartbeatRequest) -> Decision[ShardRecord, ShareHeartbeatAnswer]:
    """A heartbeat with an epoch that says goodbye."""
    group, member_id = shard.shares.get(request.group_id), request.member_id
    if group is None:
        missing = Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {request.group_id} not found.")
        return Decision((), ShareHeartbeatAnswer(missing.answer))
    if member_id not in group.members:
        stranger = Refused(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}."
        )
        return Decision((), ShareHeartbeatAnswer(stranger.answer))
    key = (group.group_id, member_id)
    answer = HeartbeatAnswer(member_id=member_id, member_epoch=request.member_epoch)
    return Decision(without_members(shard, [key]), ShareHeartbeatAnswer(answer), (MemberForgotten(key),))


def without_members(shard: GroupShard, gone: Iterable[MemberKey]) -> tuple[ShardRecord, ...]:
    """Take these members out of their share groups; who is left is assigned anew with its next heartbeat."""
    drafts: dict[str, ShareDraft] = {}
    for group_id, member_id in gone:
        draft = drafts.setdefault(group_id, ShareDraft(shard.shares[group_id]))
        draft.write(*draft.group.member_tombstones(member_id))
    for draft in drafts.values():
        draft.raise_epoch()
    return tuple(record for draft in drafts.values() for record in draft.records)
