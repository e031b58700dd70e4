"""DescribeShareGroupOffsets (API key 90): start offsets of share groups."""

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
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class DescribeShareGroupOffsetsRequestGroup:
    group_id: string = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(default_factory=list)


@message(api_key=90, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsRequest(Request["DescribeShareGroupOffsetsResponse"]):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = field(default_factory=list)


@struct
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: int32 = 0
    start_offset: int64 = 0
    leader_epoch: int32 = 0
    lag: int64 = field(default=-1, since=1)
    error_code: int16 = 0
    error_message: string | None = None


@struct
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: string = ""
    topic_id: uuid128 = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field(default_factory=list)


@struct
class DescribeShareGroupOffsetsResponseGroup:
    group_id: string = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field(default_factory=list)
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=90, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsResponse(Response):
    throttle_time_ms: int32 = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field(default_factory=list)
