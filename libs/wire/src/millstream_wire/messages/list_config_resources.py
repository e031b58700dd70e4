"""ListConfigResources (API key 74): names of the resources that have settings."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, message, string, struct


@message(api_key=74, versions=(0, 1), flexible=0)
class ListConfigResourcesRequest(Request["ListConfigResourcesResponse"]):
    resource_types: list[int8] = field(default_factory=list, since=1)


@struct
class ConfigResource:
    resource_name: string = ""
    resource_type: int8 = field(default=16, since=1)


@message(api_key=74, versions=(0, 1), flexible=0)
class ListConfigResourcesResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    config_resources: list[ConfigResource] = field(default_factory=list)
