"""CreateDelegationToken (API key 38): obtain a token that stands for its owner."""

from millstream_wire.schema import Request, Response, binary, field, int16, int32, int64, message, string, struct


@struct
class CreatableRenewers:
    principal_type: string = ""
    principal_name: string = ""


@message(api_key=38, versions=(1, 3), flexible=2)
class CreateDelegationTokenRequest(Request["CreateDelegationTokenResponse"]):
    owner_principal_type: string | None = field(default="", since=3)
    owner_principal_name: string | None = field(default="", since=3)
    renewers: list[CreatableRenewers] = field(default_factory=list)
    max_lifetime_ms: int64 = 0


@message(api_key=38, versions=(1, 3), flexible=2)
class CreateDelegationTokenResponse(Response):
    error_code: int16 = 0
    principal_type: string = ""
    principal_name: string = ""
    token_requester_principal_type: string = field(default="", since=3)
    token_requester_principal_name: string = field(default="", since=3)
    issue_timestamp_ms: int64 = 0
    expiry_timestamp_ms: int64 = 0
    max_timestamp_ms: int64 = 0
    token_id: string = ""
    hmac: binary = b""
    throttle_time_ms: int32 = 0
