"""`--format` as kcat has it: `%t-%p@%o %k %s\\n`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from millstream_client.errors import InvalidData
from millstream_client.message import Message
from millstream_wire.late_dataclass import dataclass

Piece = Callable[[Message], bytes]

_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def raw(value: Any) -> bytes:
    """As the bytes that were sent, where nothing else was asked for; a null is nothing."""
    if value is None:
        return b""
    return value if isinstance(value, bytes) else str(value).encode()


def _length(value: Any) -> bytes:
    return str(-1 if value is None else len(raw(value))).encode()


def _headers(message: Message) -> bytes:
    return b",".join(name.encode() + b"=" + raw(value) for name, value in message.headers)


_FIELDS: dict[str, Piece] = {
    "t": lambda message: message.topic.encode(),
    "p": lambda message: str(message.partition).encode(),
    "o": lambda message: str(message.offset).encode(),
    "k": lambda message: raw(message.key),
    "K": lambda message: _length(message.key),
    "s": lambda message: raw(message.value),
    "v": lambda message: raw(message.value),
    "S": lambda message: _length(message.value),
    "V": lambda message: _length(message.value),
    "T": lambda message: str(message.timestamp_ms).encode(),
    "h": _headers,
    "%": lambda message: b"%",
}


@dataclass(frozen=True, slots=True)
class Template:
    pieces: Sequence[Piece]

    @staticmethod
    def of(text: str) -> "Template":
        pieces: list[Piece] = []
        characters = iter(text)
        for character in characters:
            if character == "%":
                name = next(characters, "")
                field = _FIELDS.get(name)
                if field is None:
                    raise InvalidData(f"--format knows %{', %'.join(_FIELDS)}, not %{name}")
                pieces.append(field)
            elif character == "\\":
                name = next(characters, "")
                if name not in _ESCAPES:
                    raise InvalidData(f"--format knows \\n, \\t, \\r, \\0 and \\\\, not \\{name}")
                pieces.append(_constant(_ESCAPES[name]))
            else:
                pieces.append(_constant(character.encode()))
        return Template(pieces)

    def render(self, messages: Iterable[Message]) -> bytes:
        pieces = self.pieces
        return b"".join([piece(message) for message in messages for piece in pieces])


def _constant(content: bytes) -> Piece:
    return lambda message: content
