"""DescribeDelegationToken (API key 41): find tokens by owner."""

from millstream_wire.schema import Request, Response, binary, field, int16, int32, int64, message, string, struct


@struct
class DescribeDelegationTokenOwner:
    principal_type: string = ""
    principal_name: string = ""


@message(api_key=41, versions=(1, 3), flexible=2)
class DescribeDelegationTokenRequest(Request["DescribeDelegationTokenResponse"]):
    owners: list[DescribeDelegationTokenOwner] | None = field(default_factory=list)


@struct
class DescribedDelegationTokenRenewer:
    principal_type: string = ""
    principal_name: string = ""


@struct
class DescribedDelegationToken:
    principal_type: string = ""
    principal_name: string = ""
    token_requester_principal_type: string = field(default="", since=3)
    token_requester_principal_name: string = field(default="", since=3)
    issue_timestamp: int64 = 0
    expiry_timestamp: int64 = 0
    max_timestamp: int64 = 0
    token_id: string = ""
    hmac: binary = b""
    renewers: list[DescribedDelegationTokenRenewer] = field(default_factory=list)


@message(api_key=41, versions=(1, 3), flexible=2)
class DescribeDelegationTokenResponse(Response):
    error_code: int16 = 0
    tokens: list[DescribedDelegationToken] = field(default_factory=list)
    throttle_time_ms: int32 = 0
