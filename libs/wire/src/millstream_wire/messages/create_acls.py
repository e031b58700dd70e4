"""CreateAcls (API key 30): add access control entries."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, message, string, struct


@struct
class AclCreation:
    resource_type: int8 = 0
    resource_name: string = ""
    resource_pattern_type: int8 = 3
    principal: string = ""
    host: string = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(api_key=30, versions=(1, 3), flexible=2)
class CreateAclsRequest(Request["CreateAclsResponse"]):
    creations: list[AclCreation] = field(default_factory=list)


@struct
class AclCreationResult:
    error_code: int16 = 0
    error_message: string | None = None


@message(api_key=30, versions=(1, 3), flexible=2)
class CreateAclsResponse(Response):
    throttle_time_ms: int32 = 0
    results: list[AclCreationResult] = field(default_factory=list)
