"""Where a range of a topic begins or ends, as an option says it: by offsets or by time."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from millstream_spark.errors import BadOffsets, RecordsGone
from millstream_spark.topic import Span


@dataclass(frozen=True, slots=True)
class AtOffsets:
    offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record of each partition that is not older."""

    timestamp_ms: int


Position = AtOffsets | AtTime


def add_range_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="start", type=parse_position, help='{"0": 100, "1": 80} or 2026-01-31T00:00:00Z')
    parser.add_argument("--until", dest="end", type=parse_position, help="the same; what lies before it is taken")


def parse_position(text: str) -> Position:
    """Raises ArgumentTypeError."""
    try:
        if text.startswith("{"):
            return AtOffsets({int(partition): int(offset) for partition, offset in json.loads(text).items()})
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise argparse.ArgumentTypeError(
            f'{text!r} is neither JSON such as {{"0": 100}} nor a time such as 2026-01-31T00:00:00Z'
        ) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return AtTime(int(aware.timestamp() * 1000))


def ranges(
    held: Mapping[int, Span], starts: Mapping[int, int] | None, ends: Mapping[int, int] | None
) -> dict[int, Span]:
    """Return what is to be taken of each partition; raise BadOffsets for what the topic does not hold."""
    for name, offsets in (("from", starts), ("until", ends)):
        unknown = sorted((offsets or {}).keys() - held.keys())
        if unknown:
            raise BadOffsets(f"--{name} names partitions that the topic does not have: {unknown}")
    found = {}
    for partition, span in held.items():
        start = (starts or {}).get(partition, span.start)
        end = (ends or {}).get(partition, span.end)
        if not span.start <= start <= end <= span.end:
            raise BadOffsets(f"partition {partition} holds {span.start} to {span.end}, not {start} to {end}")
        found[partition] = Span(start, end)
    return found


def check_left(topic: str, held: Mapping[int, Span], starts: Mapping[int, int]) -> None:
    """Raise RecordsGone for partitions whose first record is behind where reading was to go on: what lay between was not read."""
    gone = [
        f"partition {partition} from {start} to {held[partition].start}"
        for partition, start in sorted(starts.items())
        if partition in held and start < held[partition].start
    ]
    if gone:
        raise RecordsGone(f"{topic} has deleted records that were not read yet: {', '.join(gone)}")
