"""DescribeGroups (API key 15), versions 0 to 6: until version 5 a group that does not exist is Dead, then an error."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.answers.operations import authorized_operations
from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_coordinator.core.group_shard.machine import GroupProtocol, GroupShard
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeGroupsRequest, DescribeGroupsResponse
from millstream_wire.messages.describe_groups import DescribedGroup, DescribedGroupMember

GROUP_ID_NOT_FOUND_SINCE = 6


async def handle_describe_groups(
    coordinator: Coordinator, request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse:
    refused = refuse_some(request, context, "groups", AclOperation.DESCRIBE, AclResource.GROUP)
    response = DescribeGroupsResponse()
    for group_id in request.groups:
        described = await _describe(coordinator, group_id, context.version)
        if request.include_authorized_operations and described.error_code == ErrorCode.NONE:
            may = context.may_what
            described.authorized_operations = authorized_operations(may, AclResource.GROUP, group_id)
        response.groups.append(described)
    return joined(response, refused)


async def _describe(coordinator: Coordinator, group_id: str, version: int) -> DescribedGroup:
    described = await coordinator.look(group_id, lambda shard: _described(shard, group_id, version))
    if isinstance(described, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=described)
    return described


def _described(shard: GroupShard, group_id: str, version: int) -> DescribedGroup:
    state = shard.state_of(group_id)
    described = DescribedGroup(group_id=group_id, group_state=state)
    if state is GroupState.DEAD and version >= GROUP_ID_NOT_FOUND_SINCE:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        is_other = shard.speaks(group_id) is not GroupProtocol.CLASSIC
        described.error_message = (
            f"Group {group_id} is not a classic group." if is_other else f"Group {group_id} not found."
        )
    group = shard.groups.get(group_id)
    if group is not None:
        described.protocol_type = group.protocol_type or ""
        # Between two generations there is no protocol, and metadata without one means nothing.
        protocol = group.protocol if state is GroupState.STABLE else None
        described.protocol_data = protocol or ""
        described.members = _members(group, protocol)
    return described


def _members(group: ClassicGroup, protocol: str | None) -> list[DescribedGroupMember]:
    return [
        DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata(protocol),
            member_assignment=member.assignment,
        )
        for member in group.members.values()
    ]
