"""Where to begin, as people say it: earliest, latest, an offset, a number of records from here, a time."""

from dataclasses import dataclass
from datetime import datetime

from millstream_client.errors import InvalidData
from millstream_client.offsets import EARLIEST, LATEST


@dataclass(frozen=True, slots=True)
class Move:
    """One of these."""

    time: int | None = None
    """In ms, or EARLIEST or LATEST."""
    offset: int | None = None
    by: int | None = None


def parse_move(text: str) -> Move:
    if text[:1] in "+-" and text[1:].isdecimal():
        return Move(by=int(text))
    if text.isascii() and text.isdecimal():
        return Move(offset=int(text))
    return Move(time=parse_time(text))


def parse_time(text: str) -> int:
    match text:
        case "earliest":
            return EARLIEST
        case "latest":
            return LATEST
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidData(f"earliest, latest, an offset or a time expected, not {text!r}") from None
    return int(moment.timestamp() * 1000)
