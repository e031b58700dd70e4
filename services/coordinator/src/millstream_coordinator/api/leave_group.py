"""LeaveGroup (API key 13), versions 0 to 5: one member until version 2, then several, by member or instance id."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.classic.messages import LeavingMember, LeftMember
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import LeaveGroupRequest, LeaveGroupResponse
from millstream_wire.messages.leave_group import MemberResponse

BATCHED_SINCE = 3


async def handle_leave_group(
    coordinator: Coordinator, request: LeaveGroupRequest, context: RequestContext
) -> LeaveGroupResponse:
    denied = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    if not request.group_id:
        return error_response(request, context.version, ErrorCode.INVALID_GROUP_ID)
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return error_response(request, context.version, groups)
    batched = context.version >= BATCHED_SINCE
    if batched:
        leaving = [LeavingMember(member.member_id, member.group_instance_id) for member in request.members]
    else:
        leaving = [LeavingMember(request.member_id)]
    left = await coordinator.committed(groups.leave(request.group_id, leaving))
    if isinstance(left, ErrorCode):
        left = tuple(LeftMember(member.member_id, member.group_instance_id, left) for member in leaving)
    if not batched:
        return LeaveGroupResponse(error_code=left[0].error)
    return LeaveGroupResponse(
        members=[
            MemberResponse(
                member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=member.error
            )
            for member in left
        ]
    )
