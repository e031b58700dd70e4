"""WriteShareGroupState (API key 85): update the state of share partitions, inside the cluster."""

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
class StateBatch:
    first_offset: int64 = 0
    last_offset: int64 = 0
    delivery_state: int8 = 0
    delivery_count: int16 = 0


@struct
class PartitionData:
    partition: int32 = 0
    state_epoch: int32 = 0
    leader_epoch: int32 = 0
    start_offset: int64 = 0
    delivery_complete_count: int32 = field(default=-1, since=1)
    state_batches: list[StateBatch] = field(default_factory=list)


@struct
class WriteStateData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@message(api_key=85, versions=(0, 1), flexible=0)
class WriteShareGroupStateRequest(Request["WriteShareGroupStateResponse"]):
    group_id: string = ""
    topics: list[WriteStateData] = field(default_factory=list)


@struct
class PartitionResult:
    partition: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class WriteStateResult:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)


@message(api_key=85, versions=(0, 1), flexible=0)
class WriteShareGroupStateResponse(Response):
    results: list[WriteStateResult] = field(default_factory=list)
