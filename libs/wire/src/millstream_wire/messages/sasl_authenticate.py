"""SaslAuthenticate (API key 36): one step of a SASL exchange."""

from millstream_wire.schema import Request, Response, binary, field, int16, int64, message, string


@message(api_key=36, versions=(0, 2), flexible=2)
class SaslAuthenticateRequest(Request["SaslAuthenticateResponse"]):
    auth_bytes: binary = b""


@message(api_key=36, versions=(0, 2), flexible=2)
class SaslAuthenticateResponse(Response):
    error_code: int16 = 0
    error_message: string | None = None
    auth_bytes: binary = b""
    session_lifetime_ms: int64 = field(default=0, since=1)
