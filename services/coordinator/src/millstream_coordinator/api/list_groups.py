"""ListGroups (API key 16), versions 0 to 5: the groups of this coordinator, filtered by state (4) and type (5)."""

from millstream_coordinator.core.shard import Shard
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import ListGroupsRequest, ListGroupsResponse
from millstream_wire.messages.list_groups import ListedGroup

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
"""The type of a group; also the protocol type of what such groups do, and of what most classic ones do."""


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
    response = ListGroupsResponse()
    for groups in coordinator.shards.serving():
        for group_id in groups.shard.group_ids():
            listed = _listed(groups.shard, group_id)
            if (not states or listed.group_state.lower() in states) and (not types or listed.group_type in types):
                response.groups.append(listed)
    return response


def _listed(shard: Shard, group_id: str) -> ListedGroup:
    consumer = shard.consumers.get(group_id)
    if consumer is not None:
        return ListedGroup(group_id=group_id, protocol_type=CONSUMER, group_state=consumer.state, group_type=CONSUMER)
    share = shard.shares.get(group_id)
    if share is not None:
        return ListedGroup(group_id=group_id, protocol_type=SHARE, group_state=share.state, group_type=SHARE)
    group = shard.groups.get(group_id)
    return ListedGroup(
        group_id=group_id,
        protocol_type=(group.protocol_type if group is not None else None) or "",
        group_state=shard.state_of(group_id),
        group_type=CLASSIC,
    )
