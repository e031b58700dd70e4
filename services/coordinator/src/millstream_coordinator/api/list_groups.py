"""ListGroups (API key 16), versions 0 to 5: the groups of this coordinator, filtered by state (4) and type (5)."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.group_shard.machine import GroupProtocol, GroupShard
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListGroupsRequest, ListGroupsResponse
from millstream_wire.messages.list_groups import ListedGroup


async def handle_list_groups(
    coordinator: Coordinator, request: ListGroupsRequest, context: RequestContext
) -> ListGroupsResponse:
    if coordinator.shards.loading:
        # Some of our groups are not known yet, and a list that leaves them out reads as if they were gone.
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    if error := await coordinator.confirmed(*coordinator.shards.serving()):
        return ListGroupsResponse(error_code=error)
    states = {state.strip().lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    sees_all = context.may(AclOperation.DESCRIBE, AclResource.CLUSTER)
    response = ListGroupsResponse()
    for groups in coordinator.shards.serving():
        for group_id in groups.shard.group_ids():
            if not sees_all and not context.may(AclOperation.DESCRIBE, AclResource.GROUP, group_id):
                continue
            listed = _listed(groups.shard, group_id)
            if (not states or listed.group_state.lower() in states) and (not types or listed.group_type in types):
                response.groups.append(listed)
    return response


def _listed(shard: GroupShard, group_id: str) -> ListedGroup:
    protocol = shard.speaks(group_id)
    match protocol:
        case GroupProtocol.CLASSIC:
            group = shard.groups.get(group_id)
            protocol_type = (group.protocol_type if group is not None else None) or ""
        case _:
            # The type of such a group is also the protocol type of what its members do.
            protocol_type = protocol.value
    return ListedGroup(
        group_id=group_id,
        protocol_type=protocol_type,
        group_state=shard.state_name(group_id),
        group_type=protocol.value,
    )
