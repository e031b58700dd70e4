"""AlterPartition (API key 56): propose a new in-sync set, from leader to controller."""

from millstream_wire.schema import (
    OWN_TAGS,
    ZERO_UUID,
    Request,
    Response,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uuid128,
)


@struct
class BrokerState:
    broker_id: int32 = field(default=0, since=3)
    broker_epoch: int64 = field(default=-1, since=3)


@struct
class RequestPartitionData:
    partition_index: int32 = 0
    leader_epoch: int32 = 0
    new_isr: list[int32] = field(default_factory=list, until=2)
    new_isr_with_epochs: list[BrokerState] = field(default_factory=list, since=3)
    leader_recovery_state: int8 = 0
    partition_epoch: int32 = 0
    resigns: boolean = field(default=False, tag=OWN_TAGS)
    """The leader's log refuses appends: let another one in sync lead, and take this one out of the ISR."""


@struct
class RequestTopicData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[RequestPartitionData] = field(default_factory=list)


@message(api_key=56, versions=(2, 3), flexible=2)
class AlterPartitionRequest(Request["AlterPartitionResponse"]):
    broker_id: int32 = 0
    broker_epoch: int64 = -1
    topics: list[RequestTopicData] = field(default_factory=list)


@struct
class ResponsePartitionData:
    partition_index: int32 = 0
    error_code: int16 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = 0
    isr: list[int32] = field(default_factory=list)
    leader_recovery_state: int8 = 0
    partition_epoch: int32 = 0


@struct
class ResponseTopicData:
    topic_id: uuid128 = ZERO_UUID
    partitions: list[ResponsePartitionData] = field(default_factory=list)


@message(api_key=56, versions=(2, 3), flexible=2)
class AlterPartitionResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: list[ResponseTopicData] = field(default_factory=list)
