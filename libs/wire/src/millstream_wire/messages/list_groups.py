"""ListGroups (API key 16): the groups a coordinator knows."""

from millstream_wire.schema import Request, Response, field, int16, int32, message, string, struct


@message(api_key=16, versions=(0, 5), flexible=3)
class ListGroupsRequest(Request["ListGroupsResponse"]):
    states_filter: list[string] = field(default_factory=list, since=4)
    types_filter: list[string] = field(default_factory=list, since=5)


@struct
class ListedGroup:
    group_id: string = ""
    protocol_type: string = ""
    group_state: string = field(default="", since=4)
    group_type: string = field(default="", since=5)


@message(api_key=16, versions=(0, 5), flexible=3)
class ListGroupsResponse(Response):
    throttle_time_ms: int32 = field(default=0, since=1)
    error_code: int16 = 0
    groups: list[ListedGroup] = field(default_factory=list)
