"""ShareAcknowledge (API key 79): acknowledge records as a member of a share group."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
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
class AcknowledgePartition:
    partition_index: int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)


@struct
class AcknowledgeTopic:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[AcknowledgePartition] = field(default_factory=list)


@message(api_key=79, versions=(1, 2), flexible=1)
class ShareAcknowledgeRequest(Request["ShareAcknowledgeResponse"]):
    group_id: string | None = None
    member_id: string | None = ""
    share_session_epoch: int32 = 0
    is_renew_ack: boolean = field(default=False, since=2)
    topics: list[AcknowledgeTopic] = field(default_factory=list)


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = 0
    leader_epoch: int32 = 0


@struct
class PartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@struct
class NodeEndpoint:
    node_id: int32 = 0
    host: string = ""
    port: int32 = 0
    rack: string | None = None


@message(api_key=79, versions=(1, 2), flexible=1)
class ShareAcknowledgeResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    acquisition_lock_timeout_ms: int32 = field(default=0, since=2)
    responses: list[ShareAcknowledgeTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
