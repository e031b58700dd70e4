"""InitializeShareGroupState (API key 83): begin the state of share partitions, inside the cluster."""

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
    state_epoch: int32 = 0
    start_offset: int64 = 0


@struct
class InitializeStateData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@message(api_key=83, versions=(0, 0), flexible=0)
class InitializeShareGroupStateRequest(Request["InitializeShareGroupStateResponse"]):
    group_id: string = ""
    topics: list[InitializeStateData] = field(default_factory=list)


@struct
class PartitionResult:
    partition: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class InitializeStateResult:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)


@message(api_key=83, versions=(0, 0), flexible=0)
class InitializeShareGroupStateResponse(Response):
    results: list[InitializeStateResult] = field(default_factory=list)
