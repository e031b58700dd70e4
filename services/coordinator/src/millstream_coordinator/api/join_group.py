"""JoinGroup (API key 11), versions 0 to 9."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.classic.messages import JoinAnswer, JoinRequest, Ticket
from millstream_coordinator.core.group.member_protocol import MemberProtocol
from millstream_coordinator.core.journal.bounds import COMMAND_BYTES_MAX, fits
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_coordinator.shell.member_rights import topic_filter
from millstream_runtime.replicated import NotCommitted
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.error_response import error_response
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import JoinGroupRequest, JoinGroupResponse
from millstream_wire.messages.join_group import JoinGroupResponseMember

REBALANCE_TIMEOUT_SINCE = 1
KNOWN_MEMBER_ID_SINCE = 4
NULL_PROTOCOL_SINCE = 7
SKIP_ASSIGNMENT_SINCE = 9
INSTANCE_ID_MAX = 249
"""As long as a topic's name: Kafka's clients allow no more."""


async def handle_join_group(
    coordinator: Coordinator, request: JoinGroupRequest, context: RequestContext
) -> JoinGroupResponse:
    """Answer when the group's rebalance is complete, which may take its whole rebalance timeout."""
    denied = refuse_all(request, context, AclOperation.READ, AclResource.GROUP, request.group_id)
    if denied is not None:
        return denied
    if not request.group_id:
        return error_response(request, context.version, ErrorCode.INVALID_GROUP_ID)
    if error := _excess(request):
        return error_response(request, context.version, error)
    groups = coordinator.groups_of(request.group_id)
    if isinstance(groups, ErrorCode):
        return error_response(request, context.version, groups)
    new_member_id = coordinator.new_member_id(request.group_instance_id or context.client_id or "")
    try:
        answer = await groups.join(request.group_id, lambda ticket: _asked(request, context, ticket, new_member_id))
    except NotCommitted:
        return error_response(request, context.version, ErrorCode.NOT_COORDINATOR)
    return _response(answer, context.version)


def _excess(request: JoinGroupRequest) -> ErrorCode:
    """Refuse what could never be stored with the group, before it takes up memory."""
    names = [request.group_instance_id, request.protocol_type, *(protocol.name for protocol in request.protocols)]
    if not all(map(fits, names)) or len(request.group_instance_id or "") > INSTANCE_ID_MAX:
        return ErrorCode.INVALID_REQUEST
    if sum(len(protocol.metadata) for protocol in request.protocols) > COMMAND_BYTES_MAX:
        return ErrorCode.MESSAGE_TOO_LARGE
    return ErrorCode.NONE


def _asked(request: JoinGroupRequest, context: RequestContext, ticket: Ticket, new_member_id: str) -> JoinRequest:
    version = context.version
    session_timeout_ms = request.session_timeout_ms
    return JoinRequest(
        ticket=ticket,
        member_id=request.member_id,
        new_member_id=new_member_id,
        group_instance_id=request.group_instance_id,
        client_id=context.client_id or "",
        client_host=f"/{context.host}",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms if version >= REBALANCE_TIMEOUT_SINCE else session_timeout_ms
        ),
        protocol_type=request.protocol_type,
        protocols=tuple(MemberProtocol(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        requires_known_member_id=version >= KNOWN_MEMBER_ID_SINCE,
        supports_skipping_assignment=version >= SKIP_ASSIGNMENT_SINCE,
        may_see=topic_filter(context),
    )


def _response(answer: JoinAnswer, version: int) -> JoinGroupResponse:
    no_protocol = None if version >= NULL_PROTOCOL_SINCE else ""
    return JoinGroupResponse(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol or no_protocol,
        leader=answer.leader,
        skip_assignment=answer.skip_assignment,
        member_id=answer.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.metadata
            )
            for member in answer.members
        ],
    )
