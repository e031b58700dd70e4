"""ListPartitionReassignments (API key 46), version 0: a partition has one replica, and none is ever on the move."""

from millstream_broker.shell.broker import Broker
from millstream_runtime.serving.context import RequestContext
from millstream_wire.messages import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse


def handle_list_partition_reassignments(
    broker: Broker, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse()
