"""OffsetCommit (API key 8): store how far a group has read."""

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
class OffsetCommitRequestPartition:
    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: int32 = field(default=-1, since=6)
    committed_metadata: string | None = ""


@struct
class OffsetCommitRequestTopic:
    name: string = field(default="", until=9)
    topic_id: uuid128 = field(default=ZERO_UUID, since=10)
    partitions: list[OffsetCommitRequestPartition] = field(default_factory=list)


@message(api_key=8, versions=(2, 10), flexible=8)
class OffsetCommitRequest(Request["OffsetCommitResponse"]):
    group_id: string = ""
    generation_id_or_member_epoch: int32 = -1
    member_id: string = ""
    group_instance_id: string | None = field(default=None, since=7)
    retention_time_ms: int64 = field(default=-1, until=4)
    topics: list[OffsetCommitRequestTopic] = field(default_factory=list)


@struct
class OffsetCommitResponsePartition:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class OffsetCommitResponseTopic:
    name: string = field(default="", until=9)
    topic_id: uuid128 = field(default=ZERO_UUID, since=10)
    partitions: list[OffsetCommitResponsePartition] = field(default_factory=list)


@message(api_key=8, versions=(2, 10), flexible=8)
class OffsetCommitResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=3)
    topics: list[OffsetCommitResponseTopic] = field(default_factory=list)
