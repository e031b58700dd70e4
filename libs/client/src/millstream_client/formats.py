"""Keys and values as bytes, in the encodings of Java's serializers, so that clients of any language read them.

A value of None is Kafka's null in every format.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from struct import Struct
from struct import error as StructError
from typing import Any

from millstream_client.errors import InvalidData
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """How values of one type become bytes and come back, and how a person types them."""

    name: str
    _pack: Callable[[Any], bytes]
    _unpack: Callable[[bytes], Any]
    _parse: Callable[[str], Any]

    def to_bytes(self, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return self._pack(value)
        except (StructError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidData(f"{value!r} is no {self.name}: {error}") from error

    def from_bytes(self, data: bytes | None) -> Any:
        if data is None:
            return None
        try:
            return self._unpack(data)
        except (StructError, ValueError) as error:
            raise InvalidData(f"{len(data)} bytes are no {self.name}: {error}") from error

    def parse(self, text: str) -> Any:
        """The value that a person means by `text`."""
        try:
            return self._parse(text)
        except ValueError as error:
            raise InvalidData(f"{text!r} is no {self.name}") from error


def format_named(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise InvalidData(f"unknown format {name!r}; there are {', '.join(FORMATS)}") from None


def _number(name: str, code: str, parse: Callable[[str], Any]) -> Format:
    layout = Struct(code)
    return Format(name, layout.pack, lambda data: layout.unpack(data)[0], parse)


def _pack_null(value: Any) -> bytes:
    raise ValueError("it is not null")


def _unpack_null(data: bytes) -> None:
    raise ValueError("they are not null")


def _dump_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _from_base64(text: str) -> bytes:
    return b64decode(text, validate=True)


def _hex(text: str) -> str:
    bytes.fromhex(text)
    return text


def _base64(text: str) -> str:
    _from_base64(text)
    return text


FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        _number("int", ">i", int),
        _number("long", ">q", int),
        _number("float", ">f", float),
        _number("double", ">d", float),
        Format("string", lambda value: value.encode(), bytes.decode, str),
        Format("bytes", lambda value: bytes(memoryview(value)), bytes, str.encode),
        Format("hex", bytes.fromhex, bytes.hex, _hex),
        Format("base64", _from_base64, lambda data: b64encode(data).decode(), _base64),
        Format("null", _pack_null, _unpack_null, lambda text: None),
        Format("json", _dump_json, json.loads, json.loads),
    )
}
