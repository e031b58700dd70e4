"""The replay job's options, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millstream_spark.options import JobParser, add_copy_options, add_segments_option, add_source_options
from millstream_spark.position import Position, add_range_options


@dataclass(frozen=True, slots=True)
class ReplayConfig:
    bootstrap_servers: str
    topic: str
    to_bootstrap_servers: str
    to_topic: str
    name: str
    """Of this replay alone: under the same name it goes on where it ended."""
    start: Position | None
    """None: at the beginning."""
    end: Position | None
    """None: at what the topic holds when the replay is started first."""
    append: bool
    """Begin although the other topic holds records."""
    segments: tuple[Path, ...]
    credentials: str | None
    to_credentials: str | None
    kafka: Mapping[str, str]
    """Settings of the consumer that reads."""


def parse_replay(arguments: Sequence[str]) -> ReplayConfig:
    parser = JobParser("replay", "Copy a range of a topic into another topic, once.")
    add_source_options(parser)
    parser.add_argument("--to-bootstrap-servers", help="the other cluster; --bootstrap-servers by default")
    add_copy_options(parser, "replay")
    add_range_options(parser)
    parser.add_argument("--append", action="store_true", help="begin although the other topic holds records")
    add_segments_option(parser)
    words = parser.parse_args(arguments)
    to_servers = words.to_bootstrap_servers or words.bootstrap_servers
    if (words.topic, words.bootstrap_servers) == (words.to_topic, to_servers):
        parser.error("a topic is not replayed into itself")
    return ReplayConfig(
        bootstrap_servers=words.bootstrap_servers,
        topic=words.topic,
        to_bootstrap_servers=to_servers,
        to_topic=words.to_topic,
        name=words.name,
        start=words.start,
        end=words.end,
        append=words.append,
        segments=tuple(words.segments),
        credentials=words.credentials,
        to_credentials=words.to_credentials or words.credentials,
        kafka=words.kafka,
    )
