"""One thing that happened, in words for people, with what it takes to choose from many."""

from collections.abc import Iterable
from dataclasses import replace

from millstream_wire.late_dataclass import dataclass

_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Event:
    time_ms: int
    about: str
    """What it happened to: `orders-0`, `broker 2`, `topic orders`."""
    what: str
    why: str = ""
    topic: str | None = None
    nodes: frozenset[int] = frozenset()
    """Whom it concerns: who came or went, who leads from now on or does no longer, who got or lost a replica."""


def grouped(events: Iterable[Event]) -> list[Event]:
    """One event of those that differ only in what they are about, as when a broker with many partitions goes."""
    found: dict[Event, list[str]] = {}
    for event in events:
        found.setdefault(replace(event, about="", topic=None, nodes=frozenset()), []).append(event.about)
    return [replace(event, about=_listed(abouts)) for event, abouts in found.items()]


def _listed(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - _NAMED_MAX
    shown = ", ".join(distinct[:_NAMED_MAX])
    return f"{shown} and {more} more" if more > 0 else shown
