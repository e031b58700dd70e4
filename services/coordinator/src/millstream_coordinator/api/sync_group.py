"""SyncGroup (API key 14), versions 0 to 5."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.classic.messages import SyncRequest, Ticket
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.replicated import NotCommitted
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import SyncGroupRequest, SyncGroupResponse

PROTOCOL_SINCE = 5


async def handle_sync_group(
    coordinator: Coordinator, request: SyncGroupRequest, context: RequestContext
) -> SyncGroupResponse:
    """Answer when the leader's assignment is stored."""
    denied = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    if context.version >= PROTOCOL_SINCE and (request.protocol_type is None or request.protocol_name is None):
        return error_response(request, context.version, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not request.group_id:
        return error_response(request, context.version, ErrorCode.INVALID_GROUP_ID)
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return error_response(request, context.version, groups)
    try:
        answer = await groups.sync(request.group_id, lambda ticket: _asked(request, ticket))
    except NotCommitted:
        return error_response(request, context.version, ErrorCode.NOT_COORDINATOR)
    return SyncGroupResponse(
        error_code=answer.error,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol,
        assignment=answer.assignment,
    )


def _asked(request: SyncGroupRequest, ticket: Ticket) -> SyncRequest:
    return SyncRequest(
        ticket=ticket,
        member_id=request.member_id,
        generation=request.generation_id,
        group_instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments=tuple((given.member_id, bytes(given.assignment)) for given in request.assignments),
    )
