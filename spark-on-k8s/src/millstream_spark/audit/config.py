"""The audit job's options, checked once."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_spark.archive.config import LAKE_FORMATS
from millstream_spark.options import JobParser, add_source_options, topic_name


@dataclass(frozen=True, slots=True)
class AuditConfig:
    bootstrap_servers: str
    topic: str
    lake: str | None
    lake_format: str
    copy: str | None
    """Another topic, of `copy_bootstrap_servers`; either this or the lake is given."""
    copy_bootstrap_servers: str
    ending_offsets: Mapping[int, int] | None
    """Where to end in each partition; None: at what the topic holds now."""
    group: str | None
    """A group whose committed offsets are where to end."""
    credentials: str | None
    kafka: Mapping[str, str]
    """Settings of the consumer that reads."""


def parse_audit(arguments: Sequence[str]) -> AuditConfig:
    parser = JobParser("audit", "Compare what is stored of a topic with the topic.")
    add_source_options(parser)
    stored = parser.add_mutually_exclusive_group(required=True)
    stored.add_argument("--lake", help="what `archive` wrote")
    parser.add_argument("--format", default="parquet", choices=LAKE_FORMATS, help="what the lake is")
    stored.add_argument("--copy", type=topic_name, help="a topic with the same records in the same partitions")
    parser.add_argument("--copy-bootstrap-servers", help="where the copy is; --bootstrap-servers by default")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--ending-offsets", type=_offsets, help='JSON: {"0": 100, "1": 80}, every partition')
    end.add_argument("--group", help="end at its committed offsets: how far an archive says it is")
    words = parser.parse_args(arguments)
    return AuditConfig(
        bootstrap_servers=words.bootstrap_servers,
        topic=words.topic,
        lake=words.lake,
        lake_format=words.format,
        copy=words.copy,
        copy_bootstrap_servers=words.copy_bootstrap_servers or words.bootstrap_servers,
        ending_offsets=words.ending_offsets,
        group=words.group,
        credentials=words.credentials,
        kafka=words.kafka,
    )


def _offsets(text: str) -> dict[int, int]:
    try:
        return {int(partition): int(offset) for partition, offset in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        raise argparse.ArgumentTypeError(f'{text!r} is not JSON such as {{"0": 100, "1": 80}}') from None
