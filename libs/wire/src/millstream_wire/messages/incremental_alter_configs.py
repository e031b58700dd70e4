"""IncrementalAlterConfigs (API key 44): set, delete, append to or subtract from single settings."""

from millstream_wire.schema import Request, Response, boolean, field, int8, int16, int32, message, string, struct


@struct
class AlterableConfig:
    name: string = ""
    config_operation: int8 = 0
    value: string | None = ""


@struct
class AlterConfigsResource:
    resource_type: int8 = 0
    resource_name: string = ""
    configs: list[AlterableConfig] = field(default_factory=list)


@message(api_key=44, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsRequest(Request["IncrementalAlterConfigsResponse"]):
    resources: list[AlterConfigsResource] = field(default_factory=list)
    validate_only: boolean = False


@struct
class AlterConfigsResourceResponse:
    error_code: int16 = 0
    error_message: string | None = None
    resource_type: int8 = 0
    resource_name: string = ""


@message(api_key=44, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsResponse(Response):
    throttle_time_ms: int32 = 0
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)
