"""When a query makes its next batch: once for what is there now, or at an interval for ever."""

import re
from dataclasses import dataclass
from typing import assert_never

from pyspark.sql.streaming.readwriter import DataStreamWriter

_INTERVAL = re.compile(r"(\d+)(ms|s|m)")
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000}


@dataclass(frozen=True, slots=True)
class AvailableNow:
    """Take what the topic holds when the job starts, then end."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Run until stopped, one batch per interval."""

    interval_ms: int


Trigger = AvailableNow | Interval


def parse_trigger(text: str) -> Trigger:
    """Raises ValueError."""
    if text == "available-now":
        return AvailableNow()
    interval = _INTERVAL.fullmatch(text)
    if interval is None or int(interval[1]) == 0:
        raise ValueError(f"{text!r} is neither available-now nor an interval such as 500ms, 10s or 5m")
    return Interval(int(interval[1]) * _UNIT_MS[interval[2]])


def triggered(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    match trigger:
        case AvailableNow():
            return writer.trigger(availableNow=True)
        case Interval(interval_ms):
            return writer.trigger(processingTime=f"{interval_ms} milliseconds")
        case _:
            assert_never(trigger)
