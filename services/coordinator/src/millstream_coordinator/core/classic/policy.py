"""What a classic group's policy does to it: who is not let in, assignments that are withheld, members that have to go.

The coordinator cannot assign for clients, but it hands out what their leader assigned: a paused group's members get
assignments without partitions in place of those. What is more than partitions stays: Connect's and Streams' assignments.
"""

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.classic.limits import ClassicLimits
from millstream_coordinator.core.classic.messages import Effect, JoinRequest
from millstream_coordinator.core.classic.rebalance import prepare_rebalance, rebalance_or_complete
from millstream_coordinator.core.classic.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from millstream_coordinator.core.group.policy import Admission
from millstream_wire.codec import encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.stored import ConsumerProtocolAssignment

WITHHELD = encode_stored(ConsumerProtocolAssignment(), 0)
STREAMS_PROTOCOL = "stream"
"""Its assignments say which tasks go with which partitions: a member cannot be given the one without the other."""


def admits(group: ClassicGroup, request: JoinRequest) -> bool:
    """Members that are in stay, unless they subscribe to what they may not."""
    policy = group.limits.policy
    is_in = request.member_id in group.members or request.group_instance_id in group.static_members
    if policy.admits_nobody and not is_in:
        return False
    if policy.admission is not Admission.DECLARED or request.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return True
    subscriptions = [subscribed_topics(offered.metadata) for offered in request.protocols]
    return all(topics is not None and not policy.undeclared(topics) for topics in subscriptions)


def handed_out(group: ClassicGroup, assignments: dict[str, bytes]) -> dict[str, bytes]:
    """What the members get of what their leader assigned."""
    if not group.limits.policy.withholds or not _can_withhold(group):
        return assignments
    return dict.fromkeys(assignments, WITHHELD)


def on_limits(group: ClassicGroup, limits: ClassicLimits, now_ms: int) -> list[Effect]:
    """The group's configuration may have changed: if its members should have more or less by it, assign anew."""
    before, group.limits = group.limits.policy.withholds, limits
    withholds = limits.policy.withholds
    if _can_withhold(group) and group.members:
        is_in_effect = all(member.assignment == WITHHELD for member in group.members.values())
        match group.state:
            case GroupState.STABLE if withholds != is_in_effect:
                prepare_rebalance(group, now_ms)
            case GroupState.COMPLETING_REBALANCE if withholds != before:
                prepare_rebalance(group, now_ms)
            case _:
                pass
    return group.take_effects()


def dismiss_if_drained(group: ClassicGroup, member_id: str, now_ms: int) -> ErrorCode:
    """The member of a group that is being drained goes as soon as it has nothing any more."""
    member = group.members.get(member_id)
    if not group.limits.policy.drains or member is None or group.state is not GroupState.STABLE:
        return ErrorCode.NONE
    if _can_withhold(group) and member.assignment != WITHHELD:
        return ErrorCode.NONE
    group.remove_member(member_id)
    if not group.members:
        rebalance_or_complete(group, now_ms)
    return ErrorCode.GROUP_AUTHORIZATION_FAILED


def _can_withhold(group: ClassicGroup) -> bool:
    return group.protocol_type == CONSUMER_PROTOCOL_TYPE and group.protocol != STREAMS_PROTOCOL
