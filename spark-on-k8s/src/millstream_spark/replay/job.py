"""Copies a range of a topic into another one, as it is: partitions, keys, values, headers, timestamps, each record once.

Where it ends is decided at its first start and kept in the cluster it writes to, with each partition's mark: offsets and notes of
the group `spark-replay.NAME`. Started again under that name it goes on there.
"""

import logging
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import TopicPartition

from millstream_spark.errors import SinkRefused
from millstream_spark.login import read_login
from millstream_spark.origin import Origin
from millstream_spark.replay.config import ReplayConfig, parse_replay
from millstream_spark.replay.copying import COLUMNS, COPIED, PartitionCopier
from millstream_spark.replay.plan import Range, check_goes_on
from millstream_spark.sink.marks import Cluster, MarkedWriter, settle
from millstream_spark.spark_session import open_session
from millstream_spark.topic import Span, Topic, describe_spans, describe_topic

TIMEOUT_S = 30
TRANSACTION_TIMEOUT_MS = 60_000

logger = logging.getLogger(__name__)


def run_replay(arguments: Sequence[str]) -> int:
    config = parse_replay(arguments)
    login = read_login(config.credentials)
    source = describe_topic(config.bootstrap_servers, config.topic, timeout_s=TIMEOUT_S, login=login.librdkafka)
    target = describe_topic(
        config.to_bootstrap_servers,
        config.to_topic,
        timeout_s=TIMEOUT_S,
        login=read_login(config.to_credentials).librdkafka,
    )
    if target.partitions < source.partitions:
        raise SinkRefused(f"{target.name} has {target.partitions} partitions, and {source.name} {source.partitions}")
    origin = Origin(config.bootstrap_servers, source, login, config.segments, config.kafka)
    settle(cluster_of(config), (f"{group_of(config)}.{partition}" for partition in range(source.partitions)))
    marks = Marks(config, target)
    found = marks.read()
    if found:
        check_goes_on({partition: each for partition, (_, each) in found.items()}, source.topic_id)
    else:
        found = {partition: (each.start, each) for partition, each in _planned(config, origin, target).items()}
        marks.store(found)
    left = {partition: Span(at, each.end) for partition, (at, each) in found.items() if at < each.end}
    logger.info("replay.started topic=%s to=%s left=%s", source.name, target.name, left)
    started = time.monotonic()
    spark = open_session(f"replay {config.name}")
    try:
        copier = PartitionCopier(
            cluster_of(config), config.to_topic, group_of(config), {at: span.end for at, span in left.items()}
        )
        copied = origin.each_partition(spark, left, COLUMNS, copier.copy, COPIED) if left else []
    finally:
        spark.stop()
    for partition in left.keys() - {each["partition"] for each in copied}:
        copier.pass_over(partition, found[partition][1].to_text())
    logger.info(
        "replay.finished topic=%s to=%s records=%d seconds=%.1f lag=0",
        source.name,
        target.name,
        sum(each["copied"] for each in copied),
        time.monotonic() - started,
    )
    return 0


class Marks:
    """How far each partition is copied, as the driver sees it."""

    def __init__(self, config: ReplayConfig, target: Topic) -> None:
        self._target = target
        self._writer = MarkedWriter(
            cluster_of(config),
            transactional_id=f"{group_of(config)}.driver",
            group_id=group_of(config),
            topic=target.name,
            partition=0,
        )

    def read(self) -> dict[int, tuple[int, Range]]:
        """Return where each partition is, and its range; nothing if the replay was not begun."""
        places = [TopicPartition(self._target.name, partition) for partition in range(self._target.partitions)]
        return {
            mark.partition: (mark.offset, Range.from_text(mark.metadata or ""))
            for mark in self._writer.read_of(places)
            if mark.offset >= 0
        }

    def store(self, begun: Mapping[int, tuple[int, Range]]) -> None:
        """All at once: a replay is begun in every partition or in none."""
        self._writer.begin_with(
            [
                TopicPartition(self._target.name, partition, at, metadata=each.to_text())
                for partition, (at, each) in begun.items()
            ]
        )
        self._writer.commit()


def _planned(config: ReplayConfig, origin: Origin, target: Topic) -> dict[int, Range]:
    """Decide what to copy; raise SinkRefused if the other topic may have it already: marks expire, records stay."""
    login = read_login(config.to_credentials).librdkafka
    held = describe_spans(config.to_bootstrap_servers, target, timeout_s=TIMEOUT_S, login=login)
    if not config.append and any(span.start < span.end for span in held):
        raise SinkRefused(
            f"{target.name} holds records and no mark of {config.name}, which is new or expired: give --append if they are others"
        )
    ranges = origin.resolve(config.start, config.end)
    return {partition: Range(origin.topic.topic_id, span.start, span.end) for partition, span in ranges.items()}


def cluster_of(config: ReplayConfig) -> Cluster:
    return Cluster(config.to_bootstrap_servers, config.to_credentials, TRANSACTION_TIMEOUT_MS)


def group_of(config: ReplayConfig) -> str:
    return f"spark-replay.{config.name}"
