"""ListGroups (API key 16), versions 0 to 5: the groups of this coordinator, filtered by state (4) and type (5)."""

from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListGroupsRequest, ListGroupsResponse
from millstream_wire.messages.list_groups import ListedGroup

CLASSIC = "classic"


def handle_list_groups(
    coordinator: Coordinator, request: ListGroupsRequest, context: RequestContext
) -> ListGroupsResponse:
    if coordinator.shards.loading:
        # Some of our groups are not known yet, and a list that leaves them out reads as if they were gone.
        return ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    response = ListGroupsResponse()
    if types and CLASSIC not in types:
        return response
    for groups in coordinator.shards.serving():
        for group_id in groups.shard.group_ids():
            state = groups.shard.state_of(group_id)
            if states and state.lower() not in states:
                continue
            group = groups.shard.groups.get(group_id)
            response.groups.append(
                ListedGroup(
                    group_id=group_id,
                    protocol_type=(group.protocol_type if group is not None else None) or "",
                    group_state=state,
                    group_type=CLASSIC,
                )
            )
    return response
