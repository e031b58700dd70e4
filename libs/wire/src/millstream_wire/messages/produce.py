"""Produce (API key 0): append record batches to partitions."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    batches_or_null,
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
class PartitionProduceData:
    index: int32 = 0
    records: batches_or_null = None


@struct
class TopicProduceData:
    name: string = field(default="", until=12)
    topic_id: uuid128 = field(default=ZERO_UUID, since=13)
    partition_data: list[PartitionProduceData] = field(default_factory=list)


@message(api_key=0, versions=(3, 13), flexible=9)
class ProduceRequest(Request["ProduceResponse"]):
    transactional_id: string | None = None
    acks: int16 = 0
    timeout_ms: int32 = 0
    topic_data: list[TopicProduceData] = field(default_factory=list)


@struct
class BatchIndexAndErrorMessage:
    batch_index: int32 = field(default=0, since=8)
    batch_index_error_message: string | None = field(default=None, since=8)


@struct
class LeaderIdAndEpoch:
    leader_id: int32 = field(default=-1, since=10)
    leader_epoch: int32 = field(default=-1, since=10)


@struct
class PartitionProduceResponse:
    index: int32 = 0
    error_code: int16 = 0
    base_offset: int64 = 0
    log_append_time_ms: int64 = -1
    log_start_offset: int64 = field(default=-1, since=5)
    record_errors: list[BatchIndexAndErrorMessage] = field(default_factory=list, since=8)
    error_message: string | None = field(default=None, since=8)
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch, since=10, tag=0)


@struct
class TopicProduceResponse:
    name: string = field(default="", until=12)
    topic_id: uuid128 = field(default=ZERO_UUID, since=13)
    partition_responses: list[PartitionProduceResponse] = field(default_factory=list)


@struct
class NodeEndpoint:
    node_id: int32 = field(default=0, since=10)
    host: string = field(default="", since=10)
    port: int32 = field(default=0, since=10)
    rack: string | None = field(default=None, since=10)


@message(api_key=0, versions=(3, 13), flexible=9)
class ProduceResponse(Response):
    responses: list[TopicProduceResponse] = field(default_factory=list)
    throttle_time_ms: int32 = 0
    node_endpoints: list[NodeEndpoint] = field(default_factory=list, since=10, tag=0)
