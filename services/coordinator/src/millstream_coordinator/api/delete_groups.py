"""DeleteGroups (API key 42), versions 0 to 3: empty groups and their offsets, or the state of what they share."""

from millstream_cluster.acls import AclOperation, AclResource
from millstream_coordinator.core.commands.offsets import delete_group
from millstream_coordinator.core.group_shard.machine import GroupProtocol
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import joined, refuse_some
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DeleteGroupsRequest, DeleteGroupsResponse
from millstream_wire.messages.delete_groups import DeletableGroupResult


async def handle_delete_groups(
    coordinator: Coordinator, request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse:
    refused = refuse_some(request, context, "groups_names", AclOperation.DELETE, AclResource.GROUP)
    response = DeleteGroupsResponse()
    for group_id in dict.fromkeys(request.groups_names):
        error = await _delete(coordinator, group_id)
        response.results.append(DeletableGroupResult(group_id=group_id, error_code=error))
    return joined(response, refused)


async def _delete(coordinator: Coordinator, group_id: str) -> ErrorCode:
    while True:
        groups = coordinator.groups_of(group_id)
        if isinstance(groups, ErrorCode):
            return groups
        if groups.shard.speaks(group_id) is GroupProtocol.SHARE:
            deleted = await coordinator.committed(groups.shares.delete_state(group_id, None))
            error = deleted if isinstance(deleted, ErrorCode) else deleted.error
            if error:
                return error
        removal = await coordinator.committed(groups.execute(lambda shard, _: delete_group(shard, group_id)))
        if isinstance(removal, ErrorCode):
            return removal
        if not removal.more:
            return removal.error
