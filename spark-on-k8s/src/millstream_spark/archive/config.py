"""The archive job's options, checked once."""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from millstream_spark.archive.columns import PARTITION_COLUMNS
from millstream_spark.options import positive, trigger
from millstream_spark.trigger import AvailableNow, Trigger

LAKE_FORMATS = ("parquet", "delta")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


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
    max_offsets_per_trigger: int | None
    group_id: str
    """The consumer group that shows the job's lag."""
    topic_check_interval_s: int
    credentials: str | None
    """A directory with the files of a User's Secret, in driver and executors."""


def parse_archive(arguments: Sequence[str]) -> ArchiveConfig:
    parser = argparse.ArgumentParser(
        prog="archive", description="Store a topic as Parquet or as a Delta table, exactly once."
    )
    parser.add_argument("--bootstrap-servers", required=True, help="host:port[,host:port...]")
    parser.add_argument("--topic", required=True, type=_topic)
    parser.add_argument("--output", required=True, help="the lake: a directory on a volume, or any Hadoop path")
    parser.add_argument("--format", default="parquet", choices=LAKE_FORMATS)
    parser.add_argument("--checkpoint", required=True, help="the job's progress; belongs to this topic and this lake")
    parser.add_argument("--trigger", default=AvailableNow(), type=trigger, help="available-now, or an interval: 10s")
    parser.add_argument(
        "--starting-offsets", default="earliest", type=_starting_offsets, help='earliest, latest or {"TOPIC":{"0":23}}'
    )
    parser.add_argument(
        "--partition-by", default=("date",), type=_partition_by, help=f"none, or of {','.join(PARTITION_COLUMNS)}"
    )
    parser.add_argument("--max-offsets-per-trigger", type=positive, help="bounds a batch")
    parser.add_argument("--group", help="where progress shows as lag; archive-TOPIC by default")
    parser.add_argument("--credentials", help="a directory with the files of a User's Secret; none: no login")
    parser.add_argument("--topic-check-interval-s", default=30, type=positive, help=argparse.SUPPRESS)
    words = parser.parse_args(arguments)
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
    )


def _topic(text: str) -> str:
    if _TOPIC.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a topic's name")
    return text


def _starting_offsets(text: str) -> str:
    if text in ("earliest", "latest"):
        return text
    try:
        positions = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither earliest, latest nor JSON") from error
    if not isinstance(positions, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object of topics")
    return text


def _partition_by(text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(text.split(","))
    unknown = [name for name in names if name not in PARTITION_COLUMNS]
    if unknown or len(set(names)) != len(names):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither none nor distinct names of {','.join(PARTITION_COLUMNS)}"
        )
    return names
