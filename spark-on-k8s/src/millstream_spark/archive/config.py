"""The archive job's options, checked once."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_spark.archive.columns import PARTITION_COLUMNS
from millstream_spark.options import (
    MAX_OFFSETS,
    JobParser,
    add_source_options,
    parse_starting_offsets,
    positive,
    trigger,
)
from millstream_spark.trigger import AvailableNow, Trigger

LAKE_FORMATS = ("parquet", "delta")


@dataclass(frozen=True, slots=True)
class ArchiveConfig:
    bootstrap_servers: str
    topic: str
    output: str
    lake_format: str
    """What the lake is: a directory of Parquet with Spark's own log, or a Delta table."""
    checkpoint: str
    trigger: Trigger
    starting_offsets: str
    """Used by the first run only; from then on the checkpoint says where to go on."""
    partition_by: tuple[str, ...]
    max_offsets_per_trigger: int
    group_id: str
    """The consumer group that shows the job's lag."""
    topic_check_interval_s: int
    credentials: str | None
    """A directory with the files of a User's Secret, in driver and executors."""
    skip_deleted: bool
    """Go on behind records that were deleted before they were read."""
    kafka: Mapping[str, str]
    """Settings of the consumer that reads."""


def parse_archive(arguments: Sequence[str]) -> ArchiveConfig:
    parser = JobParser("archive", "Store a topic as Parquet or as a Delta table, exactly once.")
    add_source_options(parser)
    parser.add_argument("--output", required=True, help="the lake: a directory on a volume, or any Hadoop path")
    parser.add_argument("--format", default="parquet", choices=LAKE_FORMATS)
    parser.add_argument("--checkpoint", required=True, help="the job's progress; belongs to this topic and this lake")
    parser.add_argument("--trigger", default=AvailableNow(), type=trigger, help="available-now, or an interval: 10s")
    parser.add_argument("--starting-offsets", default="earliest", help='earliest, latest or {"TOPIC":{"0":23}}')
    parser.add_argument(
        "--partition-by", default=("date",), type=_partition_by, help=f"none, or of {','.join(PARTITION_COLUMNS)}"
    )
    parser.add_argument("--max-offsets-per-trigger", type=positive, default=MAX_OFFSETS, help="bounds a batch")
    parser.add_argument(
        "--skip-deleted", action="store_true", help="go on behind records that were deleted before they were read"
    )
    parser.add_argument("--group", help="where progress shows as lag; archive-TOPIC by default")
    parser.add_argument("--topic-check-interval-s", default=30, type=positive, help=argparse.SUPPRESS)
    words = parser.parse_args(arguments)
    try:
        parse_starting_offsets(words.starting_offsets, words.topic)
    except ValueError as error:
        parser.error(f"argument --starting-offsets: {error}")
    return ArchiveConfig(
        bootstrap_servers=words.bootstrap_servers,
        topic=words.topic,
        output=words.output,
        lake_format=words.format,
        checkpoint=words.checkpoint,
        trigger=words.trigger,
        starting_offsets=words.starting_offsets,
        partition_by=words.partition_by,
        max_offsets_per_trigger=words.max_offsets_per_trigger,
        group_id=words.group or f"archive-{words.topic}",
        topic_check_interval_s=words.topic_check_interval_s,
        credentials=words.credentials,
        skip_deleted=words.skip_deleted,
        kafka=words.kafka,
    )


def _partition_by(text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(text.split(","))
    unknown = [name for name in names if name not in PARTITION_COLUMNS]
    if unknown or len(set(names)) != len(names):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither none nor distinct names of {','.join(PARTITION_COLUMNS)}"
        )
    return names
