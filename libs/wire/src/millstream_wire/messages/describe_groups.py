"""DescribeGroups (API key 15): state and members of classic groups."""

from millstream_wire.schema import Request, Response, binary, boolean, field, int16, int32, message, string, struct


@message(api_key=15, versions=(0, 6), flexible=5)
class DescribeGroupsRequest(Request["DescribeGroupsResponse"]):
    groups: list[string] = field(default_factory=list)
    include_authorized_operations: boolean = field(default=False, since=3)


@struct
class DescribedGroupMember:
    member_id: string = ""
    group_instance_id: string | None = field(default=None, since=4)
    client_id: string = ""
    client_host: string = ""
    member_metadata: binary = b""
    member_assignment: binary = b""


@struct
class DescribedGroup:
    error_code: int16 = 0
    error_message: string | None = field(default=None, since=6)
    group_id: string = ""
    group_state: string = ""
    protocol_type: string = ""
    protocol_data: string = ""
    members: list[DescribedGroupMember] = field(default_factory=list)
    authorized_operations: int32 = field(default=-2147483648, since=3)


@message(api_key=15, versions=(0, 6), flexible=5)
class DescribeGroupsResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=1)
    groups: list[DescribedGroup] = field(default_factory=list)
