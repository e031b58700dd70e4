"""DeleteRecords (API key 21): move the start of partitions forward."""

from millstream_wire.schema import Request, Response, field, int16, int32, int64, message, string, struct


@struct
class DeleteRecordsPartition:
    partition_index: int32 = 0
    offset: int64 = 0


@struct
class DeleteRecordsTopic:
    name: string = ""
    partitions: list[DeleteRecordsPartition] = field(default_factory=list)


@message(api_key=21, versions=(0, 2), flexible=2)
class DeleteRecordsRequest(Request["DeleteRecordsResponse"]):
    topics: list[DeleteRecordsTopic] = field(default_factory=list)
    timeout_ms: int32 = 0


@struct
class DeleteRecordsPartitionResult:
    partition_index: int32 = 0
    low_watermark: int64 = 0
    error_code: int16 = 0


@struct
class DeleteRecordsTopicResult:
    name: string = ""
    partitions: list[DeleteRecordsPartitionResult] = field(default_factory=list)


@message(api_key=21, versions=(0, 2), flexible=2)
class DeleteRecordsResponse(Response):
    throttle_time_ms: int32 = 0
    topics: list[DeleteRecordsTopicResult] = field(default_factory=list)
