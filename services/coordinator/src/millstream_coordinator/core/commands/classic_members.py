"""Members of a consumer group that speak the classic protocol: JoinGroup and SyncGroup say in two steps what a heartbeat says
in one, Heartbeat only tells them when to join again.
"""

from collections.abc import Iterable

from millstream_cluster.decision import Change, Decision
from millstream_cluster.image import Image
from millstream_coordinator.core.classic.messages import (
    JoinAnswer,
    JoinRequest,
    LeavingMember,
    LeftMember,
    SyncAnswer,
    SyncRequest,
)
from millstream_coordinator.core.classic.subscription import CONSUMER_PROTOCOL_TYPE
from millstream_coordinator.core.commands.consumer_heartbeat import on_heartbeat
from millstream_coordinator.core.commands.consumer_leaving import settled
from millstream_coordinator.core.commands.conversion import limits_of, make_room_for_classic
from millstream_coordinator.core.consumer.draft import ConsumerDraft
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.consumer.member import ClassicMember, MemberState
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.group.epochs import JOINING_EPOCH
from millstream_coordinator.core.group.sessions import MemberForgotten, MemberHeard, RevocationAwaited, RevocationEnded
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.migration.migration import encode_assignment, partitions_of, subscription_of
from millstream_wire.errors import ErrorCode


def on_classic_join(
    shard: GroupShard, group_id: str, request: JoinRequest, image: Image, now_ms: int
) -> Decision[ShardRecord, JoinAnswer | None]:
    """None: the group had no members, and makes room for a classic one."""
    group = shard.consumers.get(group_id)
    if group is None or not group.members:
        room = make_room_for_classic(shard, group_id)
        return Decision(room.records, None, room.then)
    member_id = request.member_id or request.new_member_id
    if error := _flaw(group, member_id, request):
        return Decision((), JoinAnswer(error=error, member_id=request.member_id))
    if not request.member_id and request.group_instance_id is None and request.requires_known_member_id:
        return Decision((), JoinAnswer(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
    heartbeat = _heartbeat(group_id, member_id, request, image)
    if heartbeat is None:
        return Decision((), JoinAnswer(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=request.member_id))
    decision = on_heartbeat(shard, heartbeat, image, now_ms)
    answer = decision.reply
    if answer.error is not ErrorCode.NONE:
        return Decision(decision.records, JoinAnswer(error=answer.error, member_id=request.member_id), decision.then)
    key = (group_id, member_id)
    # It has to ask for its assignment next; the time for that is the time it has to join.
    awaited = RevocationEnded(key), RevocationAwaited(key, now_ms + request.rebalance_timeout_ms)
    joined = JoinAnswer(
        member_id=member_id,
        generation=answer.member_epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol=request.protocols[0].name,
    )
    return Decision(decision.records, joined, (*decision.then, *awaited))


def on_classic_sync(
    shard: GroupShard, group_id: str, request: SyncRequest, image: Image, now_ms: int
) -> Decision[ShardRecord, SyncAnswer]:
    """The assignment that the member's join led to."""
    group = shard.consumers.get(group_id)
    member = None if group is None else group.members.get(request.member_id)
    if group is None or member is None or member.classic is None:
        return Decision((), SyncAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID))
    if error := _sync_refusal(group, member.classic, request):
        return Decision((), SyncAnswer(error=error))
    key = (group_id, request.member_id)
    answer = SyncAnswer(
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol=member.classic.protocols[0].name,
        assignment=encode_assignment(frozenset(group.current(request.member_id).assigned), member.classic, image),
    )
    heard = MemberHeard(key, now_ms + member.classic.session_timeout_ms)
    return Decision((), answer, (RevocationEnded(key), heard))


def _sync_refusal(group: ConsumerGroup, member: ClassicMember, request: SyncRequest) -> ErrorCode:
    if error := _fenced(group, request.member_id, request.group_instance_id):
        return error
    current = group.current(request.member_id)
    if request.generation != current.epoch:
        return ErrorCode.ILLEGAL_GENERATION
    protocol = member.protocols[0].name
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or request.protocol not in (None, protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if current.epoch < group.assignment_epoch and current.state is not MemberState.UNREVOKED_PARTITIONS:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def on_classic_heartbeat(
    shard: GroupShard,
    group_id: str,
    member_id: str,
    generation: int,
    instance_id: str | None,
    image: Image,
    now_ms: int,
) -> Decision[ShardRecord, ErrorCode]:
    """Keep the member's session; it learns here that it has to join again, and then has its rebalance timeout to do so."""
    group = shard.consumers[group_id]
    if error := _fenced(group, member_id, instance_id):
        return Decision((), error)
    member = group.members.get(member_id)
    if member is None or member.classic is None:
        return Decision((), ErrorCode.UNKNOWN_MEMBER_ID)
    if generation != group.current(member_id).epoch:
        return Decision((), ErrorCode.ILLEGAL_GENERATION)
    key = (group_id, member_id)
    heard = MemberHeard(key, now_ms + member.classic.session_timeout_ms)
    if not _must_join_again(group, member_id, limits_of(shard, group_id, image), now_ms):
        return Decision((), ErrorCode.NONE, (heard,))
    awaited = RevocationAwaited(key, now_ms + member.rebalance_timeout_ms)
    return Decision((), ErrorCode.REBALANCE_IN_PROGRESS, (heard, awaited))


def on_classic_leave(
    shard: GroupShard, group_id: str, leaving: Iterable[LeavingMember], image: Image, now_ms: int
) -> Decision[ShardRecord, tuple[LeftMember, ...]]:
    """Members of either kind that somebody says are gone, by member or instance id."""
    draft = ConsumerDraft(shard.consumers[group_id])
    left = []
    then: list[Change] = []
    for who in leaving:
        member_id = who.member_id or draft.group.static_members.get(who.group_instance_id or "", "")
        error = _fenced(draft.group, member_id, who.group_instance_id)
        if not error and member_id not in draft.group.members:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if not error:
            draft.write(*draft.group.member_tombstones(member_id))
            then.append(MemberForgotten((group_id, member_id)))
        left.append(LeftMember(who.member_id, who.group_instance_id, error))
    if not draft.records:
        return Decision((), tuple(left))
    draft.raise_epoch()
    records, changes = settled(shard, draft, image, now_ms)
    return Decision(records, tuple(left), (*then, *changes))


def _flaw(group: ConsumerGroup, member_id: str, request: JoinRequest) -> ErrorCode:
    if not _supports(group, member_id, request):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if request.member_id:
        holder = group.static_members.get(request.group_instance_id or "")
        if holder is not None and holder != request.member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.NONE


def _supports(group: ConsumerGroup, member_id: str, request: JoinRequest) -> bool:
    """The classic members must be able to go on without the others, so all of them have a protocol in common."""
    if request.protocol_type != CONSUMER_PROTOCOL_TYPE or not request.protocols:
        return False
    common = {protocol.name for protocol in request.protocols}
    for member in group.members.values():
        if member.classic is not None and member.member_id != member_id:
            common &= {protocol.name for protocol in member.classic.protocols}
    return bool(common)


def _heartbeat(group_id: str, member_id: str, request: JoinRequest, image: Image) -> HeartbeatRequest | None:
    """What the join says in the words of the other protocol; None if its subscription cannot be read."""
    subscription = subscription_of(request.protocols[0].metadata)
    if subscription is None:
        return None
    return HeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=JOINING_EPOCH,
        instance_id=request.group_instance_id,
        rack_id=subscription.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topics=tuple(subscription.topics),
        reported=partitions_of(subscription.owned_partitions, image),
        classic=ClassicMember(request.session_timeout_ms, request.protocols),
        may_see=request.may_see,
    )


def _fenced(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    if instance_id is None:
        return ErrorCode.NONE
    holder = group.static_members.get(instance_id)
    if holder is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if holder == member_id else ErrorCode.FENCED_INSTANCE_ID


def _must_join_again(group: ConsumerGroup, member_id: str, limits: ConsumerLimits, now_ms: int) -> bool:
    current = group.current(member_id)
    if limits.policy.drains and not current.owned:
        return True  # to be told that it has to go
    if current.epoch < group.assignment_epoch or current.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    if group.epoch > group.assignment_epoch:
        # Its join is what makes the new target, if that is due.
        return now_ms >= group.assignment_timestamp_ms + limits.assignment_interval_ms
    missing = group.target(member_id) - current.assigned.keys()
    return bool(missing) and all(group.owners.get(partition, member_id) == member_id for partition in missing)
