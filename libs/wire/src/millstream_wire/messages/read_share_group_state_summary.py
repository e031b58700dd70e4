"""ReadShareGroupStateSummary (API key 87): read the start offsets of share partitions, inside the cluster."""

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
class PartitionData:
    partition: int32 = 0
    leader_epoch: int32 = 0


@struct
class ReadStateSummaryData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@message(api_key=87, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryRequest(Request["ReadShareGroupStateSummaryResponse"]):
    group_id: string = ""
    topics: list[ReadStateSummaryData] = field(default_factory=list)


@struct
class PartitionResult:
    partition: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    state_epoch: int32 = 0
    leader_epoch: int32 = 0
    start_offset: int64 = 0
    delivery_complete_count: int32 = field(default=-1, since=1)


@struct
class ReadStateSummaryResult:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)


@message(api_key=87, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryResponse(Response):
    results: list[ReadStateSummaryResult] = field(default_factory=list)
