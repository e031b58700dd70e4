"""TxnOffsetCommit (API key 28): store how far a group has read, as part of a transaction."""

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
class TxnOffsetCommitRequestPartition:
    partition_index: int32 = 0
    committed_offset: int64 = 0
    committed_leader_epoch: int32 = field(default=-1, since=2)
    committed_metadata: string | None = ""


@struct
class TxnOffsetCommitRequestTopic:
    name: string = field(default="", until=5)
    topic_id: uuid128 = field(default=ZERO_UUID, since=6)
    partitions: list[TxnOffsetCommitRequestPartition] = field(default_factory=list)


@message(api_key=28, versions=(0, 6), flexible=3)
class TxnOffsetCommitRequest(Request["TxnOffsetCommitResponse"]):
    transactional_id: string = ""
    group_id: string = ""
    producer_id: int64 = 0
    producer_epoch: int16 = 0
    generation_id_or_member_epoch: int32 = field(default=-1, since=3)
    member_id: string = field(default="", since=3)
    group_instance_id: string | None = field(default=None, since=3)
    topics: list[TxnOffsetCommitRequestTopic] = field(default_factory=list)


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class TxnOffsetCommitResponseTopic:
    name: string = field(default="", until=5)
    topic_id: uuid128 = field(default=ZERO_UUID, since=6)
    partitions: list[TxnOffsetCommitResponsePartition] = field(default_factory=list)


@message(api_key=28, versions=(0, 6), flexible=3)
class TxnOffsetCommitResponse(Response):
    throttle_time_ms: int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = field(default_factory=list)
