"""DescribeProducers (API key 61): producers that are active in partitions."""

from millstream_wire.schema import Request, Response, field, int16, int32, int64, message, string, struct


@struct
class TopicRequest:
    name: string = ""
    partition_indexes: list[int32] = field(default_factory=list)


@message(api_key=61, versions=(0, 0), flexible=0)
class DescribeProducersRequest(Request["DescribeProducersResponse"]):
    topics: list[TopicRequest] = field(default_factory=list)


@struct
class ProducerState:
    producer_id: int64 = 0
    producer_epoch: int32 = 0
    last_sequence: int32 = -1
    last_timestamp: int64 = -1
    coordinator_epoch: int32 = 0
    current_txn_start_offset: int64 = -1


@struct
class PartitionResponse:
    partition_index: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    active_producers: list[ProducerState] = field(default_factory=list)


@struct
class TopicResponse:
    name: string = ""
    partitions: list[PartitionResponse] = field(default_factory=list)


@message(api_key=61, versions=(0, 0), flexible=0)
class DescribeProducersResponse(Response):
    throttle_time_ms: int32 = 0
    topics: list[TopicResponse] = field(default_factory=list)
