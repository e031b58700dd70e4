"""SaslHandshake (API key 17): agree on a SASL mechanism; never flexible."""

from millstream_wire.schema import Request, Response, field, int16, message, string


@message(api_key=17, versions=(0, 1), flexible=None)
class SaslHandshakeRequest(Request["SaslHandshakeResponse"]):
    mechanism: string = ""


@message(api_key=17, versions=(0, 1), flexible=None)
class SaslHandshakeResponse(Response):
    error_code: int16 = 0
    mechanisms: list[string] = field(default_factory=list)
