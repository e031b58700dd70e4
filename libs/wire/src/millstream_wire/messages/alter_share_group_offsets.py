"""AlterShareGroupOffsets (API key 91): set the start offsets of an empty share group."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    field,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uuid128,
)


@struct
class AlterShareGroupOffsetsRequestPartition:
    partition_index: int32 = 0
    start_offset: int64 = 0


@struct
class AlterShareGroupOffsetsRequestTopic:
    topic_name: string = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field(default_factory=list)


@message(api_key=91, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsRequest(Request["AlterShareGroupOffsetsResponse"]):
    group_id: string = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = field(default_factory=list)


@struct
class AlterShareGroupOffsetsResponsePartition:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class AlterShareGroupOffsetsResponseTopic:
    topic_name: string = ""
    topic_id: uuid128 = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field(default_factory=list)


@message(api_key=91, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = field(default_factory=list)
