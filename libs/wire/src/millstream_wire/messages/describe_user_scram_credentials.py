"""DescribeUserScramCredentials (API key 50): which SCRAM mechanisms users have credentials for."""

from millstream_wire.schema import Request, Response, field, int8, int16, int32, message, string, struct


@struct
class UserName:
    name: string = ""


@message(api_key=50, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsRequest(Request["DescribeUserScramCredentialsResponse"]):
    users: list[UserName] | None = field(default_factory=list)


@struct
class CredentialInfo:
    mechanism: int8 = 0
    iterations: int32 = 0


@struct
class DescribeUserScramCredentialsResult:
    user: string = ""
    error_code: int16 = 0
    error_message: string | None = None
    credential_infos: list[CredentialInfo] = field(default_factory=list)


@message(api_key=50, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsResponse(Response):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: string | None = None
    results: list[DescribeUserScramCredentialsResult] = field(default_factory=list)
