"""AssignReplicasToDirs (API key 73): which log directory each replica lies in, from broker to controller."""

from millstream_wire.schema import ZERO_UUID, Request, Response, field, int16, int32, int64, message, struct, uuid128


@struct
class RequestPartitionData:
    partition_index: int32 = 0


@struct
class RequestTopicData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[RequestPartitionData] = field(default_factory=list)


@struct
class RequestDirectoryData:
    id: uuid128 = ZERO_UUID
    topics: list[RequestTopicData] = field(default_factory=list)


@message(api_key=73, versions=(0, 0), flexible=0)
class AssignReplicasToDirsRequest(Request["AssignReplicasToDirsResponse"]):
    broker_id: int32 = 0
    broker_epoch: int64 = -1
    directories: list[RequestDirectoryData] = field(default_factory=list)


@struct
class ResponsePartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0


@struct
class ResponseTopicData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[ResponsePartitionData] = field(default_factory=list)


@struct
class ResponseDirectoryData:
    id: uuid128 = ZERO_UUID
    topics: list[ResponseTopicData] = field(default_factory=list)


@message(api_key=73, versions=(0, 0), flexible=0)
class AssignReplicasToDirsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    directories: list[ResponseDirectoryData] = field(default_factory=list)
