"""Request and response headers: what every frame begins with.

Header versions follow from the API and its version: a flexible message has a header with tags (request header 2,
response header 1). The client id stays an old-style string even there, so that a node can read the header of a version
it does not know.
"""

import struct
from dataclasses import dataclass
from typing import Final

from librt.strings import read_i16_be, read_i32_be

from millstream_wire.api import API, ApiKey
from millstream_wire.primitive import DecodeError, skip_tags

# Gone from Kafka since 4.0; its version 0 is the only request ever sent without a client id.
CONTROLLED_SHUTDOWN: Final = 7

_FIXED: Final = struct.Struct(">hhi")
_FIXED_BYTES: Final = 8
_FIXED_AND_SIZE_BYTES: Final = 10
_HEAD_BYTES: Final = 128  # of a frame: the header, unless its client has a long name
_SHORT: Final = struct.Struct(">h")
_CORRELATION_ID: Final = struct.Struct(">i")
_NO_TAGS: Final = b"\x00"

# First flexible version by API key: plain integers because it is asked for every frame.
_NEVER: Final = 0x8000
_FLEXIBLE: Final = {int(key): _NEVER if api.flexible is None else api.flexible for key, api in API.items()}


@dataclass(slots=True)
class RequestHeader:
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None = None


def decode_request_header(frame: memoryview | bytes) -> tuple[RequestHeader, int]:
    """The header and the position of the body; an unknown API is read as one without tags."""
    api_key, version, correlation_id, client_id, position = read_request_header(frame)
    return RequestHeader(api_key, version, correlation_id, client_id), position


def read_request_header(frame: bytes | memoryview) -> tuple[int, int, int, str | None, int]:
    """As `decode_request_header`, without an object in between: every request of a server goes through here."""
    client_id: str | None = None
    head = frame if isinstance(frame, bytes) else bytes(frame[:_HEAD_BYTES])
    try:
        api_key: int = read_i16_be(head, 0)
        version: int = read_i16_be(head, 2)
        correlation_id: int = read_i32_be(head, 4)
        if api_key == CONTROLLED_SHUTDOWN and version == 0:
            return api_key, version, correlation_id, None, _FIXED_BYTES
        size: int = read_i16_be(head, _FIXED_BYTES)
        pos = _FIXED_AND_SIZE_BYTES
        if size >= 0:
            pos += size
            name = head[_FIXED_AND_SIZE_BYTES:pos] if pos < len(head) else bytes(frame[_FIXED_AND_SIZE_BYTES:pos])
            client_id = name.decode()
        if version >= _FLEXIBLE.get(api_key, _NEVER):
            first: int = head[pos] if pos < len(head) else frame[pos]
            pos = skip_tags(memoryview(frame), pos) if first else pos + 1
    except (IndexError, UnicodeDecodeError) as error:
        raise DecodeError(f"request header: {error}") from error
    if pos > len(frame):
        raise DecodeError("request header: client id or tags longer than the frame")
    return api_key, version, correlation_id, client_id, pos


def encode_request_header(header: RequestHeader) -> bytes:
    fixed = _FIXED.pack(header.api_key, header.version, header.correlation_id)
    client_id = None if header.client_id is None else header.client_id.encode()
    text = _SHORT.pack(-1) if client_id is None else _SHORT.pack(len(client_id)) + client_id
    return fixed + text + (_NO_TAGS if _has_tags(header.api_key, header.version) else b"")


def encode_response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    correlation = _CORRELATION_ID.pack(correlation_id)
    return correlation + _NO_TAGS if _response_has_tags(api_key, version) else correlation


def decode_response_header(api_key: int, version: int, data: memoryview | bytes) -> tuple[int, int]:
    """The correlation id and the position of the body."""
    view = memoryview(data)
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(view, 0)
        pos = _CORRELATION_ID.size
        if _response_has_tags(api_key, version):
            pos = skip_tags(view, pos)
    except (struct.error, IndexError) as error:
        raise DecodeError(f"response header: {error}") from error
    if pos > len(view):
        raise DecodeError("response header: tags longer than the frame")
    return correlation_id, pos


def _has_tags(api_key: int, version: int) -> bool:
    return version >= _FLEXIBLE.get(api_key, _NEVER)


def _response_has_tags(api_key: int, version: int) -> bool:
    # A client that asks for a version we do not know must still be able to read that answer.
    return api_key != ApiKey.API_VERSIONS and _has_tags(api_key, version)
