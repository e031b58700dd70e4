"""ListPartitionReassignments (API key 46), version 0."""

from millstream_cluster.acls import AclOperation
from millstream_cluster.answers.list_partition_reassignments import list_partition_reassignments
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.refusals import refuse_all
from millstream_wire.messages import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse


def handle_list_partition_reassignments(
    coordinator: Coordinator, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    refused = refuse_all(request, context, AclOperation.DESCRIBE)
    if refused is not None:
        return refused
    return list_partition_reassignments(coordinator.image, request)
