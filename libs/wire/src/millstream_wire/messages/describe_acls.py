"""DescribeAcls (API key 29): find access control entries."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, message, string, struct


@message(api_key=29, versions=(1, 3), flexible=2)
class DescribeAclsRequest(Request["DescribeAclsResponse"]):
    resource_type_filter: int8 = 0
    resource_name_filter: string | None = ""
    pattern_type_filter: int8 = 3
    principal_filter: string | None = ""
    host_filter: string | None = ""
    operation: int8 = 0
    permission_type: int8 = 0


@struct
class AclDescription:
    principal: string = ""
    host: string = ""
    operation: int8 = 0
    permission_type: int8 = 0


@struct
class DescribeAclsResource:
    resource_type: int8 = 0
    resource_name: string = ""
    pattern_type: int8 = 3
    acls: list[AclDescription] = field(default_factory=list)


@message(api_key=29, versions=(1, 3), flexible=2)
class DescribeAclsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    resources: list[DescribeAclsResource] = field(default_factory=list)
