"""Bytes to messages and back. Decoders and encoders are compiled on first use of a message and version.

`decode` is for bytes from anyone: it returns a message or raises `DecodeError`, nothing else. `encode` is for our own
messages: a value that does not fit its field is our bug and surfaces as Python's own error (`struct.error`,
`AttributeError`, `TypeError`). A field that a version does not have is left out, whatever its value.
"""

import struct
from typing import Any, Protocol, TypeAlias, TypeVar

from millstream_wire.compile import Decoder, Encoder, compile_decoder, compile_encoder
from millstream_wire.primitive import DecodeError
from millstream_wire.schema import Declared, Message, Stored, is_flexible

__all__ = [
    "DecodeError",
    "Opaque",
    "Part",
    "decode",
    "decode_embedded",
    "decode_stored",
    "encode",
    "encode_parts",
    "encode_stored",
]

D = TypeVar("D", bound=Declared)
M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Stored)


class Opaque(Protocol):
    """Bytes that are not in memory (a slice of a file): only their number is known here."""

    def __len__(self) -> int: ...


Part: TypeAlias = bytes | memoryview | Opaque

# A `bytes` part up to this size is cheaper to copy into its neighbours than to send on its own.
JOINED_PART_MAX_BYTES = 4096

# What straight-line decoding of bytes that end too early, or are not text, raises.
_BAD_BYTES = (struct.error, IndexError, UnicodeDecodeError)

_decoders: dict[tuple[type, int], Decoder] = {}
_encoders: dict[tuple[type, int], Encoder] = {}


def decode(cls: type[M], version: int, data: memoryview | bytes, position: int = 0) -> M:
    """Read a message that takes up all of `data` from `position` on; its `records` fields stay views into `data`.

    A request may be followed by bytes that mean nothing, as with Kafka: librdkafka's Metadata for all topics is (its #5049).
    """
    view = memoryview(data)
    message, end = _run(cls, version, view, position)
    if end > len(view) or not cls.is_request:
        _refuse_rest(cls, end, view)
    return message


def encode(message: Message, version: int) -> bytes:
    """Everything in one piece; `records` fields must hold bytes or views."""
    parts: list[Any] = []
    _encoder_of(type(message), version)(message, parts.append)
    return b"".join(parts)


def encode_parts(message: Message, version: int) -> list[Part]:
    """As `encode`, with what `records` fields hold passed on as it is, between the bytes around it."""
    parts: list[Any] = []
    _encoder_of(type(message), version)(message, parts.append)
    return _joined(parts)


def decode_stored(cls: type[S], data: memoryview | bytes) -> S:
    """Read a stored key or value: its version, then its body."""
    view = memoryview(data)
    message, end = _run(cls, _stored_version(cls, view), view, 2)
    _refuse_rest(cls, end, view)
    return message


def decode_embedded(cls: type[S], data: memoryview | bytes) -> S:
    """As `decode_stored`, from a client that may be newer: it only ever adds at the end, so read what we know."""
    view = memoryview(data)
    message, end = _run(cls, min(_stored_version(cls, view), cls.versions[1]), view, 2)
    if end > len(view):
        _refuse_rest(cls, end, view)
    return message


def encode_stored(value: Stored, version: int) -> bytes:
    parts: list[Any] = [version.to_bytes(2, "big")]
    _encoder_of(type(value), version)(value, parts.append)
    return b"".join(parts)


def _stored_version(cls: type[Stored], view: memoryview) -> int:
    if len(view) < 2:
        raise DecodeError(f"{cls.__name__}: too short for a version")
    return int.from_bytes(view[:2], "big", signed=True)


def _run(cls: type[D], version: int, view: memoryview, pos: int) -> tuple[D, int]:
    """The message and where it ended, which may be past the end of hostile bytes: the caller looks."""
    decoder = _decoders.get((cls, version)) or _decoder_of(cls, version)
    try:
        return decoder(view, pos)
    except DecodeError as error:
        raise DecodeError(f"{cls.__name__} v{version}: {error}") from None
    except _BAD_BYTES as error:
        raise DecodeError(f"{cls.__name__} v{version}: {error}") from error


def _refuse_rest(cls: type[Declared], end: int, view: memoryview) -> None:
    if end != len(view):
        raise DecodeError(f"{cls.__name__}: ends at {end} of {len(view)} bytes")


def _decoder_of(cls: type[Declared], version: int) -> Decoder:
    first, last = cls.versions
    if not first <= version <= last:
        raise DecodeError(f"{cls.__name__} has no version {version}")
    decoder = _decoders[cls, version] = compile_decoder(cls, version, is_flexible(cls, version))
    return decoder


def _encoder_of(cls: type[Declared], version: int) -> Encoder:
    encoder = _encoders.get((cls, version))
    if encoder is None:
        first, last = cls.versions
        if not first <= version <= last:
            raise ValueError(f"{cls.__name__} has no version {version}")
        encoder = _encoders[cls, version] = compile_encoder(cls, version, is_flexible(cls, version))
    return encoder


def _joined(parts: list[Any]) -> list[Part]:
    result: list[Part] = []
    run: list[bytes] = []
    for part in parts:
        if type(part) is bytes and len(part) <= JOINED_PART_MAX_BYTES:
            run.append(part)
        elif len(part):
            if run:
                result.append(b"".join(run))
                run = []
            result.append(part)
    if run:
        result.append(b"".join(run))
    return result
