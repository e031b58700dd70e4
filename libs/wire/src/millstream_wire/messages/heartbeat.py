"""Heartbeat (API key 12): stay in a classic group."""

from millstream_wire.schema import Request, Response, field, int16, int32, message, string


@message(api_key=12, versions=(0, 4), flexible=4)
class HeartbeatRequest(Request["HeartbeatResponse"]):
    group_id: string = ""
    generation_id: int32 = 0
    member_id: string = ""
    group_instance_id: string | None = field(default=None, since=3)


@message(api_key=12, versions=(0, 4), flexible=4)
class HeartbeatResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=1)
    error_code: int16 = 0
