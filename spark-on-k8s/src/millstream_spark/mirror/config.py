"""The mirror job's options, checked once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream_spark.options import MAX_OFFSETS, JobParser, add_copy_options, add_source_options, positive, trigger
from millstream_spark.trigger import AvailableNow, Trigger


@dataclass(frozen=True, slots=True)
class MirrorConfig:
    bootstrap_servers: str
    topic: str
    to_bootstrap_servers: str
    to_topic: str
    name: str
    """Of this mirror alone: under the same name it goes on where it ended."""
    trigger: Trigger
    groups: frozenset[str] | None
    """Whose offsets to translate; None: of all but those of Spark's queries."""
    max_offsets_per_round: int
    credentials: str | None
    to_credentials: str | None
    kafka: Mapping[str, str]
    """Settings of the consumer that reads."""


def parse_mirror(arguments: Sequence[str]) -> MirrorConfig:
    parser = JobParser("mirror", "Copy a topic into a topic of another cluster, for ever.")
    add_source_options(parser)
    parser.add_argument("--to-bootstrap-servers", required=True, help="the other cluster")
    add_copy_options(parser, "mirror")
    parser.add_argument("--trigger", default=AvailableNow(), type=trigger, help="available-now, or an interval: 10s")
    parser.add_argument("--groups", help="whose offsets to translate: names with commas between them; all by default")
    parser.add_argument("--max-offsets-per-round", type=positive, default=MAX_OFFSETS, help="bounds a round")
    words = parser.parse_args(arguments)
    return MirrorConfig(
        bootstrap_servers=words.bootstrap_servers,
        topic=words.topic,
        to_bootstrap_servers=words.to_bootstrap_servers,
        to_topic=words.to_topic,
        name=words.name,
        trigger=words.trigger,
        groups=None if words.groups is None else frozenset(words.groups.split(",")),
        max_offsets_per_round=words.max_offsets_per_round,
        credentials=words.credentials,
        to_credentials=words.to_credentials or words.credentials,
        kafka=words.kafka,
    )
