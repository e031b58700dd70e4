"""DeleteGroups (API key 42): delete empty groups."""

from millstream_wire.schema import Request, Response, field, int16, int32, message, string, struct


@message(api_key=42, versions=(0, 3), flexible=2)
class DeleteGroupsRequest(Request["DeleteGroupsResponse"]):
    groups_names: list[string] = field(default_factory=list)


@struct
class DeletableGroupResult:
    group_id: string = ""
    error_code: int16 = 0
    error_message: string | None = field(default=None, since=3)


@message(api_key=42, versions=(0, 3), flexible=2)
class DeleteGroupsResponse(Response):
    throttle_time_ms: int32 = 0
    results: list[DeletableGroupResult] = field(default_factory=list)
