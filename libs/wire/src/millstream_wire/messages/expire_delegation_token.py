"""ExpireDelegationToken (API key 40): bring the expiry of a token forward."""

from millstream_wire.schema import Request, Response, binary, int16, int32, int64, message


@message(api_key=40, versions=(1, 2), flexible=2)
class ExpireDelegationTokenRequest(Request["ExpireDelegationTokenResponse"]):
    hmac: binary = b""
    expiry_time_period_ms: int64 = 0


@message(api_key=40, versions=(1, 2), flexible=2)
class ExpireDelegationTokenResponse(Response):
    error_code: int16 = 0
    expiry_timestamp_ms: int64 = 0
    throttle_time_ms: int32 = 0
