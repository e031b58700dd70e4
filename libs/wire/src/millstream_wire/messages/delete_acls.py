"""DeleteAcls (API key 31): remove the access control entries that match a filter."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, message, string, struct


@struct
class DeleteAclsFilter:
    resource_type_filter: int8 = 0
    resource_name_filter: string | None = ""
    pattern_type_filter: int8 = 3
    principal_filter: string | None = ""
    host_filter: string | None = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=31, versions=(1, 3), flexible=2)
class DeleteAclsRequest(Request["DeleteAclsResponse"]):
    filters: list[DeleteAclsFilter] = field(default_factory=list)


@struct
class DeleteAclsMatchingAcl:
    error_code: int16 = 0
    error_message: string | None = None
    resource_type: int8 = 0
    resource_name: string = ""
    pattern_type: int8 = 3
    principal: string = ""
    host: string = ""
    operation: int8 = 0
    permission_type: int8 = 0


@struct
class DeleteAclsFilterResult:
    error_code: int16 = 0
    error_message: string | None = None
    matching_acls: list[DeleteAclsMatchingAcl] = field(default_factory=list)


@message(api_key=31, versions=(1, 3), flexible=2)
class DeleteAclsResponse(Response):
    throttle_time_ms: int32 = 0
    filter_results: list[DeleteAclsFilterResult] = field(default_factory=list)
