"""Which messages somebody wants to see: regular expressions on key, value and headers."""

import re
from argparse import Namespace
from collections.abc import Sequence

from millstream.commands.pairs import parse_pairs
from millstream.commands.template import raw
from millstream_client.errors import InvalidData
from millstream_client.message import Message
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Chosen:
    """All that are given have to match, somewhere in what would be printed; a null matches nothing."""

    key: re.Pattern[bytes] | None = None
    value: re.Pattern[bytes] | None = None
    headers: Sequence[tuple[str, re.Pattern[bytes]]] = ()

    @staticmethod
    def of(options: Namespace) -> "Chosen":
        return Chosen(
            _pattern("--key-matches", options.key_matches),
            _pattern("--value-matches", options.value_matches),
            [
                (name, compiled)
                for name, text in parse_pairs(options.header_matches).items()
                if (compiled := _pattern("--header-matches", text)) is not None
            ],
        )

    def of_all(self, messages: list[Message]) -> list[Message]:
        if self.key is None and self.value is None and not self.headers:
            return messages
        return [each for each in messages if self.takes(each)]

    def takes(self, message: Message) -> bool:
        if self.key is not None and not _matches(self.key, message.key):
            return False
        if self.value is not None and not _matches(self.value, message.value):
            return False
        return all(
            any(name == wanted and _matches(pattern, value) for name, value in message.headers)
            for wanted, pattern in self.headers
        )


def _pattern(option: str, text: str | None) -> re.Pattern[bytes] | None:
    if text is None:
        return None
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise InvalidData(f"{option}: {error}: {text!r}") from None


def _matches(pattern: re.Pattern[bytes], value: object) -> bool:
    return value is not None and pattern.search(raw(value)) is not None
