"""ShareGroupDescribe (API key 77): state and members of share groups."""

from millstream_wire.schema import (
    ZERO_UUID,
    Request,
    Response,
    boolean,
    field,
    int16,
    int32,
    message,
    string,
    struct,
    uuid128,
)


@message(api_key=77, versions=(1, 1), flexible=1)
class ShareGroupDescribeRequest(Request["ShareGroupDescribeResponse"]):
    group_ids: list[string] = field(default_factory=list)
    include_authorized_operations: boolean = False


@struct
class TopicPartitions:
    topic_id: uuid128 = ZERO_UUID
    topic_name: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = field(default_factory=list)


@struct
class Member:
    member_id: string = ""
    rack_id: string | None = None
    member_epoch: int32 = 0
    client_id: string = ""
    client_host: string = ""
    subscribed_topic_names: list[string] = field(default_factory=list)
    assignment: Assignment = field(default_factory=Assignment)


@struct
class DescribedGroup:
    error_code: int16 = 0
    error_message: string | None = None
    group_id: string = ""
    group_state: string = ""
    group_epoch: int32 = 0
    assignment_epoch: int32 = 0
    assignor_name: string = ""
    members: list[Member] = field(default_factory=list)
    authorized_operations: int32 = -2147483648


@message(api_key=77, versions=(1, 1), flexible=1)
class ShareGroupDescribeResponse(Response):
    throttle_time_ms: int32 = 0
    groups: list[DescribedGroup] = field(default_factory=list)
