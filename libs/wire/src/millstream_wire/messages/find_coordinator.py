"""FindCoordinator (API key 10): which node coordinates a group, a transaction or a share partition."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, message, string, struct


@message(api_key=10, versions=(0, 6), flexible=3)
class FindCoordinatorRequest(Request["FindCoordinatorResponse"]):
    key: string = field(default="", until=3)
    key_type: int8 = field(default=0, since=1)
    coordinator_keys: list[string] = field(default_factory=list, since=4)


@struct
class Coordinator:
    key: string = field(default="", since=4)
    node_id: int32 = field(default=0, since=4)
    host: string = field(default="", since=4)
    port: int32 = field(default=0, since=4)
    error_code: int16 = field(default=0, since=4)
    error_message: string | None = field(default=None, since=4)


@message(api_key=10, versions=(0, 6), flexible=3)
class FindCoordinatorResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=1)
    error_code: int16 = field(default=0, until=3)
    error_message: string | None = field(default=None, since=1, until=3)
    node_id: int32 = field(default=0, until=3)
    host: string = field(default="", until=3)
    port: int32 = field(default=0, until=3)
    coordinators: list[Coordinator] = field(default_factory=list, since=4)
