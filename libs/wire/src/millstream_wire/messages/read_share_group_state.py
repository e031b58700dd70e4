"""ReadShareGroupState (API key 84): read the state of share partitions, inside the cluster."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
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
class PartitionData:
    partition: int32 = 0
    leader_epoch: int32 = 0


@struct
class ReadStateData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@message(api_key=84, versions=(0, 0), flexible=0)
class ReadShareGroupStateRequest(Request["ReadShareGroupStateResponse"]):
    group_id: string = ""
    topics: list[ReadStateData] = field(default_factory=list)


@struct
class StateBatch:
    first_offset: int64 = 0
    last_offset: int64 = 0
    delivery_state: int8 = 0
    delivery_count: int16 = 0


@struct
class PartitionResult:
    partition: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    state_epoch: int32 = 0
    start_offset: int64 = 0
    state_batches: list[StateBatch] = field(default_factory=list)


@struct
class ReadStateResult:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)


@message(api_key=84, versions=(0, 0), flexible=0)
class ReadShareGroupStateResponse(Response):
    results: list[ReadStateResult] = field(default_factory=list)
