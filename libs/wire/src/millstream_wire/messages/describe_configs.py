"""DescribeConfigs (API key 32): settings of topics, nodes and groups, and where they come from."""

from millstream_wire.schema import Request, Response, boolean, field, int8, int16, int32, message, string, struct


@struct
class DescribeConfigsResource:
    resource_type: int8 = 0
    resource_name: string = ""
    configuration_keys: list[string] | None = field(default_factory=list)


@message(api_key=32, versions=(1, 4), flexible=4)
class DescribeConfigsRequest(Request["DescribeConfigsResponse"]):
    resources: list[DescribeConfigsResource] = field(default_factory=list)
    include_synonyms: boolean = False
    include_documentation: boolean = field(default=False, since=3)


@struct
class DescribeConfigsSynonym:
    name: string = ""
    value: string | None = ""
    source: int8 = 0


@struct
class DescribeConfigsResourceResult:
    name: string = ""
    value: string | None = ""
    read_only: boolean = False
    config_source: int8 = -1
    is_sensitive: boolean = False
    synonyms: list[DescribeConfigsSynonym] = field(default_factory=list)
    config_type: int8 = field(default=0, since=3)
    documentation: string | None = field(default="", since=3)


@struct
class DescribeConfigsResult:
    error_code: int16 = 0
    error_message: string | None = None
    resource_type: int8 = 0
    resource_name: string = ""
    configs: list[DescribeConfigsResourceResult] = field(default_factory=list)


@message(api_key=32, versions=(1, 4), flexible=4)
class DescribeConfigsResponse(Response):
    throttle_time_ms: int32 = 0
    results: list[DescribeConfigsResult] = field(default_factory=list)
