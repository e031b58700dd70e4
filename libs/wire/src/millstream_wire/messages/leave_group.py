"""LeaveGroup (API key 13): take members out of a classic group."""

from millstream_wire.schema import Request, Response, field, int16, int32, message, string, struct


@struct
class MemberIdentity:
    member_id: string = field(default="", since=3)
    group_instance_id: string | None = field(default=None, since=3)
    reason: string | None = field(default=None, since=5)


@message(api_key=13, versions=(0, 5), flexible=4)
class LeaveGroupRequest(Request["LeaveGroupResponse"]):
    group_id: string = ""
    member_id: string = field(default="", until=2)
    members: list[MemberIdentity] = field(default_factory=list, since=3)


@struct
class MemberResponse:
    member_id: string = field(default="", since=3)
    group_instance_id: string | None = field(default="", since=3)
    error_code: int16 = field(default=0, since=3)


@message(api_key=13, versions=(0, 5), flexible=4)
class LeaveGroupResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=1)
    error_code: int16 = 0
    members: list[MemberResponse] = field(default_factory=list, since=3)
