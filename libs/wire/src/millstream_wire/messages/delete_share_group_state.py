"""DeleteShareGroupState (API key 86): drop the state of share partitions, inside the cluster."""

from millstream_wire.schema import ZERO_UUID, Request, Response, field, int16, int32, message, string, struct, uuid128


@struct
class PartitionData:
    partition: int32 = 0


@struct
class DeleteStateData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@message(api_key=86, versions=(0, 0), flexible=0)
class DeleteShareGroupStateRequest(Request["DeleteShareGroupStateResponse"]):
    group_id: string = ""
    topics: list[DeleteStateData] = field(default_factory=list)


@struct
class PartitionResult:
    partition: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None


@struct
class DeleteStateResult:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)


@message(api_key=86, versions=(0, 0), flexible=0)
class DeleteShareGroupStateResponse(Response):
    results: list[DeleteStateResult] = field(default_factory=list)
