"""ConsumerGroupHeartbeat (API key 68): join, stay in and leave a consumer group whose assignment the coordinator makes (KIP-848)."""

from millstream_wire.schema import ZERO_UUID, Request, Response, field, int16, int32, message, string, struct, uuid128


@struct
class TopicPartitions:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[int32] = field(default_factory=list)


@message(api_key=68, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatRequest(Request["ConsumerGroupHeartbeatResponse"]):
    group_id: string = ""
    member_id: string = ""
    member_epoch: int32 = 0
    instance_id: string | None = None
    rack_id: string | None = None
    rebalance_timeout_ms: int32 = -1
    subscribed_topic_names: list[string] | None = None
    subscribed_topic_regex: string | None = field(default=None, since=1)
    server_assignor: string | None = None
    topic_partitions: list[TopicPartitions] | None = None


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = field(default_factory=list)


@message(api_key=68, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    member_id: string | None = None
    member_epoch: int32 = 0
    heartbeat_interval_ms: int32 = 0
    assignment: Assignment | None = None
