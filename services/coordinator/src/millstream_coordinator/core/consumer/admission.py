"""Who a heartbeat comes from: a new member, one that comes back, one that is known, or one that must not act any more."""

from dataclasses import replace

from millstream_coordinator.core.consumer.draft import ConsumerDraft
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.consumer.member import CurrentAssignment, MemberMetadata
from millstream_coordinator.core.consumer.messages import HeartbeatRequest
from millstream_coordinator.core.consumer.records import CurrentStored, MemberStored, TargetStored
from millstream_coordinator.core.consumer.targeting import check_regex
from millstream_coordinator.core.group.epochs import STATIC_LEAVING_EPOCH
from millstream_coordinator.core.group.heartbeats import Refused
from millstream_wire.errors import ErrorCode


def admit(draft: ConsumerDraft, request: HeartbeatRequest, limits: ConsumerLimits) -> bool:
    """Let the member in with what it says of itself; whether that asks for a new assignment. Raises Refused."""
    _check_topics(request, limits)
    if request.joins:
        if request.instance_id is not None:
            _take_place(draft, request.instance_id, request.member_id, classic=request.classic is not None)
        is_new = request.member_id not in draft.group.members
        if is_new and limits.policy.admits_nobody:
            raise Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"Group {request.group_id} admits no members now.")
        if is_new and len(draft.group.members) >= limits.size_max:
            raise Refused(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {limits.size_max} members.",
            )
    else:
        _check_known(draft, request)
        check_epoch(draft.group.current(request.member_id), request)
    before = draft.group.members.get(request.member_id)
    after = _updated(before, request)
    if after.regex is not None and (before is None or after.regex != before.regex):
        check_regex(after.regex)
    if after == before:
        return False
    draft.write(MemberStored(request.group_id, request.member_id, after))
    return (
        before is None or after.subscription != before.subscription or after.server_assignor != before.server_assignor
    )


def _check_topics(request: HeartbeatRequest, limits: ConsumerLimits) -> None:
    if undeclared := limits.policy.undeclared(request.topics or ()):
        message = f"Group {request.group_id} is for declared topics only, not for {', '.join(undeclared[:10])}."
        raise Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, message)


def check_static(draft: ConsumerDraft, instance_id: str | None, member_id: str) -> None:
    """Refuse one whose instance id is another member's by now."""
    if instance_id is None:
        return
    holder = draft.group.static_members.get(instance_id)
    if holder is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if holder != member_id:
        raise Refused(
            ErrorCode.FENCED_INSTANCE_ID, f"Static member {member_id} with instance id {instance_id} was fenced."
        )


def _check_known(draft: ConsumerDraft, request: HeartbeatRequest) -> None:
    check_static(draft, request.instance_id, request.member_id)
    if request.member_id not in draft.group.members:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {request.member_id} is not a member of group {request.group_id}."
        )


def check_epoch(current: CurrentAssignment, request: HeartbeatRequest) -> None:
    """The epoch must be the member's; the one before is good if it lost our answer and has nothing that it should not."""
    if request.member_epoch == current.epoch:
        return
    missed_answer = (
        request.member_epoch == current.previous_epoch
        and request.reported is not None
        and request.reported <= current.assigned.keys()
    )
    if request.member_epoch > current.epoch or not missed_answer:
        relation = "greater" if request.member_epoch > current.epoch else "smaller"
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {relation} member epoch ({request.member_epoch}) than the one known by the "
            f"group coordinator ({current.epoch}). The member must abandon all its partitions and rejoin.",
        )


def _take_place(draft: ConsumerDraft, instance_id: str, member_id: str, *, classic: bool) -> None:
    """A static member comes back as another member: it gets its own place, and nobody else notices."""
    group = draft.group
    holder = group.static_members.get(instance_id)
    if holder is None or holder == member_id:
        return
    current = group.current(holder)
    # A classic member does not say that it goes away: it is just there again, under whichever protocol.
    is_classic = draft.group.members[holder].classic is not None or classic
    if current.epoch != STATIC_LEAVING_EPOCH and not is_classic:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID, f"Instance id {instance_id} is still in use by member {holder}."
        )
    member, target = group.members[holder], group.target(holder)
    draft.write(
        *group.member_tombstones(holder),
        MemberStored(group.group_id, member_id, replace(member, member_id=member_id)),
        TargetStored(group.group_id, member_id, target),
        CurrentStored(group.group_id, member_id, current),
    )


def _updated(before: MemberMetadata | None, request: HeartbeatRequest) -> MemberMetadata:
    """What the member says now, over what it said before."""
    known = before if before is not None else MemberMetadata(member_id=request.member_id)
    topics = known.topics if request.topics is None else tuple(sorted(set(request.topics)))
    regex = known.regex if request.regex is None else request.regex or None
    if request.joins:
        topics, regex = tuple(sorted(set(request.topics or ()))), request.regex or None
    return MemberMetadata(
        member_id=request.member_id,
        instance_id=known.instance_id if request.instance_id is None else request.instance_id,
        rack_id=known.rack_id if request.rack_id is None else request.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topics=topics,
        regex=regex,
        rebalance_timeout_ms=known.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        classic=request.classic,
        server_assignor=known.server_assignor if request.server_assignor is None else request.server_assignor,
    )
