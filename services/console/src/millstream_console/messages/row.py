"""One message as the page shows it, and which ones somebody wants to see. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream_client.browsing import Stored
from millstream_console.body import shown
from millstream_wire.records import NO_PRODUCER_ID

BODY_CHARACTERS = 2_000
"""Of a key or a value in a list; the rest is shown when somebody asks for that message."""
HEADERS_MAX = 50
HEADER_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be in a message; nothing has to where a text is empty."""

    key: bytes = b""
    value: bytes = b""
    header: bytes = b""
    """In a header's value, or its name."""

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> "Wanted":
        return cls(*(str(asked.get(name) or "").encode("utf-8", "replace") for name in ("key", "value", "header")))

    @property
    def is_everything(self) -> bool:
        return not (self.key or self.value or self.header)

    def takes(self, stored: Stored) -> bool:
        if self.is_everything:
            return True
        record = stored.record
        if stored.is_control or self.key not in (record.key or b"") or self.value not in (record.value or b""):
            return False
        return not self.header or any(
            self.header in name.encode() or self.header in (value or b"") for name, value in record.headers
        )


def row_of(partition: int, stored: Stored, characters: int = BODY_CHARACTERS) -> dict[str, Any]:
    record = stored.record
    return {
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp if record.timestamp >= 0 else None,
        "key": shown(record.key, characters),
        "value": shown(record.value, characters),
        "headers": [
            {"name": name[:HEADER_CHARACTERS], "value": shown(value, min(characters, HEADER_CHARACTERS))}
            for name, value in record.headers[:HEADERS_MAX]
        ],
        "headers_left_out": max(0, len(record.headers) - HEADERS_MAX),
        "control": _control(stored),
        "transactional": stored.is_transactional,
        "producer": None if stored.producer_id == NO_PRODUCER_ID else [stored.producer_id, stored.producer_epoch],
    }


def _control(stored: Stored) -> str | None:
    """What a mark that no consumer sees says."""
    if not stored.is_control:
        return None
    if stored.commits is None:
        return "control"
    return "commit" if stored.commits else "abort"
