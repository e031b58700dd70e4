"""ListPartitionReassignments (API key 46), version 0."""

from millstream_cluster.answers.list_partition_reassignments import list_partition_reassignments
from millstream_coordinator.shell.coordinator import Coordinator
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse


def handle_list_partition_reassignments(
    coordinator: Coordinator, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    return list_partition_reassignments(coordinator.image, request)
