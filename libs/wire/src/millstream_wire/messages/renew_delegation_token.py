"""RenewDelegationToken (API key 39): move the expiry of a token."""

from millstream_wire.schema import Request, Response, binary, int16, int32, int64, message


@message(api_key=39, versions=(1, 2), flexible=2)
class RenewDelegationTokenRequest(Request["RenewDelegationTokenResponse"]):
    hmac: binary = b""
    renew_period_ms: int64 = 0


@message(api_key=39, versions=(1, 2), flexible=2)
class RenewDelegationTokenResponse(Response):
    error_code: int16 = 0
    expiry_timestamp_ms: int64 = 0
    throttle_time_ms: int32 = 0
