"""ListOffsets (API key 2): find offsets by timestamp, or the ends of a partition."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, int64, message, string, struct


@struct
class ListOffsetsPartition:
    partition_index: int32 = 0
    current_leader_epoch: int32 = field(default=-1, since=4)
    timestamp: int64 = 0


@struct
class ListOffsetsTopic:
    name: string = ""
    partitions: list[ListOffsetsPartition] = field(default_factory=list)


@message(api_key=2, versions=(1, 11), flexible=6)
class ListOffsetsRequest(Request["ListOffsetsResponse"]):
    replica_id: int32 = 0
    isolation_level: int8 = field(default=0, since=2)
    topics: list[ListOffsetsTopic] = field(default_factory=list)
    timeout_ms: int32 = field(default=0, since=10)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int32 = 0
    error_code: int16 = 0
    timestamp: int64 = -1
    offset: int64 = -1
    leader_epoch: int32 = field(default=-1, since=4)


@struct
class ListOffsetsTopicResponse:
    name: string = ""
    partitions: list[ListOffsetsPartitionResponse] = field(default_factory=list)


@message(api_key=2, versions=(1, 11), flexible=6)
class ListOffsetsResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=2)
    topics: list[ListOffsetsTopicResponse] = field(default_factory=list)
