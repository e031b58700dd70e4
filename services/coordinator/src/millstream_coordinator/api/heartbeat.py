"""Heartbeat (API key 12), versions 0 to 4. Waits for nothing while our session runs: the most frequent request there is."""

from collections.abc import Awaitable

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.groups.groups import Groups
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import HeartbeatRequest, HeartbeatResponse


def handle_heartbeat(
    coordinator: Coordinator, request: HeartbeatRequest, context: RequestContext
) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
    denied = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    if not request.group_id:
        return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return HeartbeatResponse(error_code=groups)
    error = groups.heartbeat(request.group_id, request.member_id, request.generation_id, request.group_instance_id)
    if not groups.is_certain:
        return _confirmed(coordinator, groups, error)
    return HeartbeatResponse(error_code=error)


async def _confirmed(coordinator: Coordinator, groups: Groups, error: ErrorCode) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=await coordinator.confirmed(groups) or error)
