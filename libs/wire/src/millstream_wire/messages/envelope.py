"""Envelope (API key 58): carry a client's request and its principal from broker to controller."""

from millstream_wire.schema import OWN_TAGS, Request, Response, binary, boolean, field, int16, message


@message(api_key=58, versions=(0, 0), flexible=0)
class EnvelopeRequest(Request["EnvelopeResponse"]):
    request_data: binary = b""
    request_principal: binary | None = b""
    client_host_address: binary = b""
    must_be_authorized: boolean = field(default=False, tag=OWN_TAGS, tagged_since=0)
    """Ours alone: the node that the client asked has an authorizer, so whoever has none must not do what the client asks."""


@message(api_key=58, versions=(0, 0), flexible=0)
class EnvelopeResponse(Response):
    response_data: binary | None = None
    error_code: int16 = 0
