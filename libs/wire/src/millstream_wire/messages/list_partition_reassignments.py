"""ListPartitionReassignments (API key 46): replicas on the move."""

from millstream_wire.schema import Request, Response, field, int16, int32, message, string, struct


@struct
class ListPartitionReassignmentsTopics:
    name: string = ""
    partition_indexes: list[int32] = field(default_factory=list)


@message(api_key=46, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsRequest(Request["ListPartitionReassignmentsResponse"]):
    timeout_ms: int32 = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


@struct
class OngoingPartitionReassignment:
    partition_index: int32 = 0
    replicas: list[int32] = field(default_factory=list)
    adding_replicas: list[int32] = field(default_factory=list)
    removing_replicas: list[int32] = field(default_factory=list)


@struct
class OngoingTopicReassignment:
    name: string = ""
    partitions: list[OngoingPartitionReassignment] = field(default_factory=list)


@message(api_key=46, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    topics: list[OngoingTopicReassignment] = field(default_factory=list)
