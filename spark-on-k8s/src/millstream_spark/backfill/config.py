"""The backfill job's options, checked once."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millstream_spark.options import JobParser, add_segments_option, add_source_options, positive
from millstream_spark.position import Position, add_range_options

PART_OFFSETS = 1_000_000


@dataclass(frozen=True, slots=True)
class BackfillConfig:
    bootstrap_servers: str
    topic: str
    output: Path
    segments: tuple[Path, ...]
    start: Position | None
    """None: at the beginning."""
    end: Position | None
    """None: at what there is when the backfill is started first."""
    part_offsets: int
    """Offsets that a file is for; the first run decides."""
    credentials: str | None
    kafka: Mapping[str, str]
    """Settings of the consumer that reads."""


def parse_backfill(arguments: Sequence[str]) -> BackfillConfig:
    parser = JobParser("backfill", "Store a range of a topic as Parquet, each record once.")
    add_source_options(parser)
    parser.add_argument("--output", required=True, type=_directory, help="a directory of driver and executors alike")
    add_segments_option(parser)
    add_range_options(parser)
    parser.add_argument("--part-offsets", type=positive, default=PART_OFFSETS, help="offsets that a file is for")
    words = parser.parse_args(arguments)
    return BackfillConfig(
        bootstrap_servers=words.bootstrap_servers,
        topic=words.topic,
        output=words.output,
        segments=tuple(words.segments),
        start=words.start,
        end=words.end,
        part_offsets=words.part_offsets,
        credentials=words.credentials,
        kafka=words.kafka,
    )


def _directory(text: str) -> Path:
    path = Path(text.removeprefix("file://"))
    if not path.is_absolute():
        raise argparse.ArgumentTypeError(f"{text!r} is not an absolute path of a directory")
    return path
