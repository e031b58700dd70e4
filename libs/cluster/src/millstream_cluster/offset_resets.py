"""Where a reset takes a group's offsets, and how far that is. The command line and the operator decide by it. Pure.

What has to be asked first (where logs begin and end, what they held at a time) is the caller's to ask.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar, assert_never

from millstream_wire.late_dataclass import dataclass

Partition = tuple[str, int]
Key = TypeVar("Key", bound=Partition)

_DURATION = re.compile(r"([0-9]{1,9})([smhd])")
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class LogRange:
    """The offsets `[start, end)` that a partition holds."""

    start: int
    end: int

    def clamped(self, offset: int) -> int:
        return min(max(offset, self.start), self.end)


@dataclass(frozen=True, slots=True)
class ToEarliest: ...


@dataclass(frozen=True, slots=True)
class ToLatest: ...


@dataclass(frozen=True, slots=True)
class ToTime:
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ToOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    records: int


Move = ToEarliest | ToLatest | ToTime | ToOffset | ShiftBy


class NowhereToCountFrom(Exception):
    """A group that has committed nothing cannot be moved by so many records."""

    def __init__(self, partitions: Iterable[Partition]) -> None:
        names = ", ".join(f"{topic}-{index}" for topic, index in sorted(partitions)[:20])
        super().__init__(f"the group has committed nothing in {names}, so there is nowhere to count from")


@dataclass(frozen=True, slots=True)
class Distance:
    """In records, over all partitions that the group has committed in."""

    skipped: int
    repeated: int


def target_of(
    move: Move, committed: Mapping[Key, int | None], logs: Mapping[Key, LogRange], at_time: Mapping[Key, int]
) -> dict[Key, int]:
    """Where each partition of `logs` goes. `at_time`: the first offset at or after `ToTime`'s time, -1 where nothing is that young."""
    match move:
        case ToEarliest():
            return {each: log.start for each, log in logs.items()}
        case ToLatest():
            return {each: log.end for each, log in logs.items()}
        case ToTime():
            return {each: at_time[each] if at_time[each] >= 0 else log.end for each, log in logs.items()}
        case ToOffset(offset):
            return {each: log.clamped(offset) for each, log in logs.items()}
        case ShiftBy(records):
            known = {each: at for each in logs if (at := committed.get(each)) is not None}
            if len(known) < len(logs):
                raise NowhereToCountFrom(logs.keys() - known.keys())
            return {each: log.clamped(known[each] + records) for each, log in logs.items()}
        case _:
            assert_never(move)


def distance(before: Mapping[Key, int | None], after: Mapping[Key, int | None]) -> Distance:
    moved = [to - at for each, to in after.items() if to is not None and (at := before.get(each)) is not None]
    return Distance(sum(each for each in moved if each > 0), -sum(each for each in moved if each < 0))


def gone_on(expected: Mapping[Key, int | None], now: Mapping[Key, int | None]) -> list[Key]:
    """The partitions that somebody has committed in since."""
    return sorted(each for each, offset in expected.items() if now.get(each) != offset)


def duration_ms(text: str) -> int | None:
    """90s, 15m, 6h, 7d; None for anything else."""
    found = _DURATION.fullmatch(text)
    return None if found is None else int(found[1]) * _UNITS_MS[found[2]]
