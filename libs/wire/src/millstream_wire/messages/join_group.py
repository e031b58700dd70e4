"""JoinGroup (API key 11): enter a classic group, or its next generation."""

from millstream_wire.schema import Request, Response, binary, boolean, field, int16, int32, message, string, struct


@struct
class JoinGroupRequestProtocol:
    name: string = ""
    metadata: binary = b""


@message(api_key=11, versions=(0, 9), flexible=6)
class JoinGroupRequest(Request["JoinGroupResponse"]):
    group_id: string = ""
    session_timeout_ms: int32 = 0
    rebalance_timeout_ms: int32 = field(default=-1, since=1)
    member_id: string = ""
    group_instance_id: string | None = field(default=None, since=5)
    protocol_type: string = ""
    protocols: list[JoinGroupRequestProtocol] = field(default_factory=list)
    reason: string | None = field(default=None, since=8)


@struct
class JoinGroupResponseMember:
    member_id: string = ""
    group_instance_id: string | None = field(default=None, since=5)
    metadata: binary = b""


@message(api_key=11, versions=(0, 9), flexible=6)
class JoinGroupResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=2)
    error_code: int16 = 0
    generation_id: int32 = -1
    protocol_type: string | None = field(default=None, since=7)
    protocol_name: string | None = field(default="", nullable_since=7)
    leader: string = ""
    skip_assignment: boolean = field(default=False, since=9)
    member_id: string = ""
    members: list[JoinGroupResponseMember] = field(default_factory=list)
