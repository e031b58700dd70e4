"""ShareGroupHeartbeat (API key 76): join, stay in and leave a share group."""

from millstream_wire.schema import ZERO_UUID, Request, Response, field, int16, int32, message, string, struct, uuid128


@message(api_key=76, versions=(1, 1), flexible=1)
class ShareGroupHeartbeatRequest(Request["ShareGroupHeartbeatResponse"]):
    group_id: string = ""
    member_id: string = ""
    member_epoch: int32 = 0
    rack_id: string | None = None
    subscribed_topic_names: list[string] | None = None


@struct
class TopicPartitions:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[int32] = field(default_factory=list)


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = field(default_factory=list)


@message(api_key=76, versions=(1, 1), flexible=1)
class ShareGroupHeartbeatResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    member_id: string | None = None
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    assignment: Assignment | None = None
