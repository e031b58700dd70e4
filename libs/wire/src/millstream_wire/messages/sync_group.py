"""SyncGroup (API key 14): hand in and receive the assignment of a classic group."""

from millstream_wire.schema import Request, Response, binary, field, int16, int32, message, string, struct


@struct
class SyncGroupRequestAssignment:
    member_id: string = ""
    assignment: binary = b""


@message(api_key=14, versions=(0, 5), flexible=4)
class SyncGroupRequest(Request["SyncGroupResponse"]):
    group_id: string = ""
    generation_id: int32 = 0
    member_id: string = ""
    group_instance_id: string | None = field(default=None, since=3)
    protocol_type: string | None = field(default=None, since=5)
    protocol_name: string | None = field(default=None, since=5)
    assignments: list[SyncGroupRequestAssignment] = field(default_factory=list)


@message(api_key=14, versions=(0, 5), flexible=4)
class SyncGroupResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=1)
    error_code: int16 = 0
    protocol_type: string | None = field(default=None, since=5)
    protocol_name: string | None = field(default=None, since=5)
    assignment: binary = b""
