"""Envelope (API key 58), version 0: a client's request as it came, with the principal and the address that it came from (KIP-590).

The node that a client asks puts what belongs to the controller into one; the controller opens it, and handles what is inside in
that client's name. Only nodes are believed.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address

from millstream_cluster.principal import Principal
from millstream_runtime.network.frames import Part
from millstream_runtime.serving.connection import encoded
from millstream_runtime.serving.context import Connection, RequestContext
from millstream_runtime.serving.handlers import App, Handlers
from millstream_runtime.serving.peer import ClientPeer, ListenerKind, NodePeer
from millstream_runtime.serving.request_time import RequestTime
from millstream_wire.api import ApiKey
from millstream_wire.codec import DecodeError, decode, decode_embedded, encode_stored
from millstream_wire.errors import ErrorCode
from millstream_wire.header import read_request_header
from millstream_wire.messages import EnvelopeRequest, EnvelopeResponse
from millstream_wire.stored.principal import DefaultPrincipalData

logger = logging.getLogger(__name__)

HandleEnvelope = Callable[[App, EnvelopeRequest, RequestContext], Awaitable[EnvelopeResponse]]


def sealed(
    frame: bytes, client: ClientPeer, host: str, *, by_token: bool = False, must_be_authorized: bool = False
) -> EnvelopeRequest:
    """The client's request, header included, to be handled in its name."""
    principal = DefaultPrincipalData(
        type=client.principal.type, name=client.principal.name, token_authenticated=by_token
    )
    return EnvelopeRequest(
        request_data=frame,
        request_principal=encode_stored(principal, 0),
        client_host_address=_packed(host),
        must_be_authorized=must_be_authorized,
    )


def opening(
    handlers: Handlers[App], request_time: Callable[[App], RequestTime | None] = lambda _: None
) -> HandleEnvelope[App]:
    """A handler of envelopes around requests that these handlers serve.

    `request_time`: where their time is counted, while somebody has a quota for it.
    """

    async def handle_envelope(app: App, request: EnvelopeRequest, context: RequestContext) -> EnvelopeResponse:
        if not isinstance(context.peer, NodePeer):
            return EnvelopeResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if request.must_be_authorized and context.connection.authorizer is None:
            logger.error("forwarded request refused reason=no_authorizer_here set=authorizer.class.name")
            return EnvelopeResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        frame = request.request_data
        try:
            api_key, version, correlation_id, client_id, position = read_request_header(frame)
            handler = handlers.get(ApiKey(api_key)) if api_key in handlers else None
            if handler is None:
                return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
            if not handler.request.versions[0] <= version <= handler.request.versions[1]:
                return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
            asked = decode(handler.request, version, frame, position)
            connection = _sender(request, context)
        except (DecodeError, ValueError):
            return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        inside = RequestContext(
            ApiKey(api_key), version, correlation_id, client_id, frame, connection, context.received_at_ms
        )
        counted = request_time(app)
        reply = handler.handle(app, asked, inside) if counted is None else counted.handle(handler, app, asked, inside)
        if inspect.isawaitable(reply):
            reply = await reply
        return EnvelopeResponse(response_data=_joined(encoded(api_key, version, correlation_id, reply)))

    return handle_envelope


def _sender(request: EnvelopeRequest, context: RequestContext) -> Connection:
    """The client's end of a connection that another node keeps."""
    data = decode_embedded(DefaultPrincipalData, request.request_principal or b"")
    address = f"{_unpacked(request.client_host_address)}:0"
    peer = ClientPeer(Principal(data.type, data.name))
    number, listener_name = context.connection.number, context.listener_name
    return Connection(
        number,
        address,
        listener_name,
        ListenerKind.CLIENTS,
        peer,
        by_token=data.token_authenticated,
        authorizer=context.connection.authorizer,
        audit=context.connection.audit,
    )


def _joined(parts: Sequence[Part]) -> bytes:
    in_memory = [part for part in parts if isinstance(part, (bytes, bytearray, memoryview))]
    assert len(in_memory) == len(parts), "what is answered in an envelope is no slice of a file"
    return b"".join(in_memory)


def _packed(host: str) -> bytes:
    """Nothing where hosts have names for addresses, as in the simulation."""
    try:
        return ip_address(host.strip("[]")).packed
    except ValueError:
        return b""


def _unpacked(address: bytes) -> str:
    return str(ip_address(bytes(address))) if address else ""
