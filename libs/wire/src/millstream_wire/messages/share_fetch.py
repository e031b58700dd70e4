"""ShareFetch (API key 78): acquire and acknowledge records as a member of a share group."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    batches,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    string,
    struct,
    uuid128,
)


@struct
class AcknowledgementBatch:
    first_offset: int64 = 0
    last_offset: int64 = 0
    acknowledge_types: list[int8] = field(default_factory=list)


@struct
class FetchPartition:
    partition_index: int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)


@struct
class FetchTopic:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[FetchPartition] = field(default_factory=list)


@struct
class ForgottenTopic:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[int32] = field(default_factory=list)


@message(api_key=78, versions=(1, 2), flexible=1)
class ShareFetchRequest(Request["ShareFetchResponse"]):
    group_id: string | None = None
    member_id: string | None = ""
    share_session_epoch: int32 = 0
    max_wait_ms: int32 = 0
    min_bytes: int32 = 0
    max_bytes: int32 = 2147483647
    max_records: int32 = 0
    batch_size: int32 = 0
    share_acquire_mode: int8 = field(default=0, since=2)
    is_renew_ack: boolean = field(default=False, since=2)
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = 0
    leader_epoch: int32 = 0


@struct
class AcquiredRecords:
    first_offset: int64 = 0
    last_offset: int64 = 0
    delivery_count: int16 = 0


@struct
class PartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    acknowledge_error_code: int16 = 0
    acknowledge_error_message: string | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    records: batches = b""
    acquired_records: list[AcquiredRecords] = field(default_factory=list)


@struct
class ShareFetchableTopicResponse:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@struct
class NodeEndpoint:
    node_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = None


@message(api_key=78, versions=(1, 2), flexible=1)
class ShareFetchResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    acquisition_lock_timeout_ms: int32 = 0
    responses: list[ShareFetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
