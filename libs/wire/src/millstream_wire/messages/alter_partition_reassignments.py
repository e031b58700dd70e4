"""AlterPartitionReassignments (API key 45): start or cancel moving replicas."""

from millstream_wire.schema import Request, Response, boolean, field, int16, int32, message, string, struct


@struct
class ReassignablePartition:
    partition_index: int32 = 0
    replicas: list[int32] | None = None


@struct
class ReassignableTopic:
    name: string = ""
    partitions: list[ReassignablePartition] = field(default_factory=list)


@message(api_key=45, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsRequest(Request["AlterPartitionReassignmentsResponse"]):
    timeout_ms: int32 = 60000
    allow_replication_factor_change: boolean = field(default=True, since=1)
    topics: list[ReassignableTopic] = field(default_factory=list)


@struct
class ReassignablePartitionResponse:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class ReassignableTopicResponse:
    name: string = ""
    partitions: list[ReassignablePartitionResponse] = field(default_factory=list)


@message(api_key=45, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsResponse(Response):
    throttle_time_ms: int32 = 0
    allow_replication_factor_change: boolean = field(default=True, since=1)
    error_code: int16 = 0
    error_message: string | None = None
    responses: list[ReassignableTopicResponse] = field(default_factory=list)
