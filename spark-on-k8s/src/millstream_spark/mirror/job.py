"""Copies a topic into a topic of another cluster, round after round, as a replay does, and translates the offsets of its groups.

How far each partition is, and which offsets belong together, are marks of the group `spark-mirror.NAME` in the cluster that it
writes to. It keeps nothing else: whoever starts it again under its name goes on there.
"""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import assert_never

from confluent_kafka import TopicPartition
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from millstream_spark.errors import SinkRefused
from millstream_spark.login import read_login
from millstream_spark.mirror.config import MirrorConfig, parse_mirror
from millstream_spark.mirror.flow import Flow, Renewal, check_flow, next_ranges
from millstream_spark.mirror.groups import GroupTranslator, origins_of
from millstream_spark.origin import Origin
from millstream_spark.replay.copying import COLUMNS, COPIED, PartitionCopier
from millstream_spark.sink.marks import Cluster, MarkedWriter, settle
from millstream_spark.spark_session import open_session
from millstream_spark.streaming import BATCH_END_TIMEOUT_S, sigterm
from millstream_spark.topic import Span, Topic, describe_spans, describe_topic
from millstream_spark.trigger import AvailableNow, Interval

TIMEOUT_S = 30
TRANSACTION_TIMEOUT_MS = 60_000
GROUP_PREFIX = "spark-mirror."
STOP_POLL_S = 0.5

logger = logging.getLogger(__name__)


def run_mirror(arguments: Sequence[str]) -> int:
    config = parse_mirror(arguments)
    with sigterm() as stop:
        mirror = Mirror(config)
        mirror.prepare()
        spark = open_session(f"mirror {config.name}")
        try:
            with _given_up(spark, stop):
                _run_rounds(spark, mirror, config, stop)
        finally:
            spark.stop()
    logger.info("mirror.finished topic=%s to=%s", config.topic, config.to_topic)
    return 0


def _run_rounds(spark: SparkSession, mirror: "Mirror", config: MirrorConfig, stop: threading.Event) -> None:
    while not stop.is_set():
        begun = time.monotonic()
        behind = mirror.round(spark)
        match config.trigger:
            case AvailableNow():
                if behind == 0:
                    return
            case Interval(interval_ms):
                if behind == 0:
                    stop.wait(max(0, interval_ms / 1000 - (time.monotonic() - begun)))
            case _:
                assert_never(config.trigger)


@contextmanager
def _given_up(spark: SparkSession, stop: threading.Event) -> Iterator[None]:
    """End a round that takes too long once the process was told to stop; the next run goes on behind what is marked."""
    over, cancelled = threading.Event(), threading.Event()

    def cancel() -> None:
        while not stop.wait(STOP_POLL_S):
            if over.is_set():
                return
        if not over.wait(BATCH_END_TIMEOUT_S):
            cancelled.set()
            spark.sparkContext.cancelAllJobs()

    watching = threading.Thread(target=cancel, daemon=True)
    watching.start()
    try:
        yield
    except (Py4JJavaError, PySparkException):
        if not cancelled.is_set():
            raise
        logger.warning("mirror.round_given_up")
    finally:
        over.set()
        watching.join()


class Mirror:
    def __init__(self, config: MirrorConfig) -> None:
        self._config = config
        self._login, self._to_login = read_login(config.credentials), read_login(config.to_credentials)
        self._cluster = Cluster(config.to_bootstrap_servers, config.to_credentials, TRANSACTION_TIMEOUT_MS)
        self._group_id = GROUP_PREFIX + config.name
        self._translator = GroupTranslator(
            config.bootstrap_servers, self._login, config.to_bootstrap_servers, self._to_login, config.groups
        )
        self._until: dict[int, int] | None = None

    def prepare(self) -> None:
        """Fence every earlier driver and its tasks. Raises JobError for what cannot be mirrored."""
        source, target = self._topics()
        settle(self._cluster, (f"{self._group_id}.{partition}" for partition in range(source.partitions)))
        self._driver = MarkedWriter(
            self._cluster,
            transactional_id=f"{self._group_id}.driver",
            group_id=self._group_id,
            topic=target.name,
            partition=0,
        )
        flows = self._checked(source, target)
        ends = self._ends(target)
        if not flows and any(span.start < span.end for span in ends.values()):
            raise SinkRefused(
                f"{target.name} holds records and no mark of {self._config.name}, which is new or expired: take an empty topic"
            )
        held = describe_spans(self._config.bootstrap_servers, source, timeout_s=TIMEOUT_S, login=self._login.librdkafka)
        if isinstance(self._config.trigger, AvailableNow):
            self._until = {partition: span.end for partition, span in enumerate(held)}
        logger.info("mirror.started topic=%s to=%s name=%s", source.name, target.name, self._config.name)

    def round(self, spark: SparkSession) -> int:
        """Copy what is there, up to a bound, and translate; return how many offsets it is behind then."""
        begun = time.monotonic()
        source, target = self._topics()
        flows = self._checked(source, target)
        origin = Origin(self._config.bootstrap_servers, source, self._login, kafka=self._config.kafka)
        held = origin.resolve(None, None)
        if self._until is not None:
            held = {at: Span(span.start, min(span.end, self._until.get(at, 0))) for at, span in held.items()}
        flows |= self._begin(source, target, held.keys() - flows.keys())
        reached = {at: offset for at, (offset, _) in flows.items()}
        wanted = next_ranges(reached, held, self._config.max_offsets_per_round)
        copied = 0
        if wanted:
            ends = {partition: span.end for partition, span in wanted.items()}
            renewal = Renewal(tuple(sorted(self._origins)))
            copier = PartitionCopier(self._cluster, target.name, self._group_id, ends, renewal)
            rows = origin.each_partition(spark, wanted, COLUMNS, copier.copy, COPIED)
            copied = sum(row["copied"] for row in rows)
            for at in wanted.keys() - {row["partition"] for row in rows}:
                copier.pass_over(at, flows[at][1].to_text())
            flows = self._flows(target)
        copied_to = self._ends(target)
        groups = self._translator.translate(
            source, target, {at: (offset, flow, copied_to[at].end) for at, (offset, flow) in flows.items()}
        )
        behind = sum(max(0, span.end - flows[at][0]) for at, span in held.items())
        logger.info(
            "mirror.round topic=%s records=%d seconds=%.3f lag=%d groups=%d",
            source.name,
            copied,
            time.monotonic() - begun,
            behind,
            groups,
        )
        return behind

    def _topics(self) -> tuple[Topic, Topic]:
        config = self._config
        source = describe_topic(
            config.bootstrap_servers, config.topic, timeout_s=TIMEOUT_S, login=self._login.librdkafka
        )
        target = describe_topic(
            config.to_bootstrap_servers, config.to_topic, timeout_s=TIMEOUT_S, login=self._to_login.librdkafka
        )
        if target.partitions < source.partitions:
            raise SinkRefused(
                f"{target.name} has {target.partitions} partitions, and {source.name} {source.partitions}"
            )
        return source, target

    def _checked(self, source: Topic, target: Topic) -> dict[int, tuple[int, Flow]]:
        """Return where each partition is that was begun. Raises SinkRefused."""
        flows = self._flows(target)
        self._origins = origins_of(self._config.bootstrap_servers, source, self._login, GROUP_PREFIX)
        check_flow(source, target, [flow for _, flow in flows.values()], self._origins)
        return flows

    def _begin(self, source: Topic, target: Topic, partitions: set[int]) -> dict[int, tuple[int, Flow]]:
        """Mark partitions that are new, before any task has them: all at once."""
        if not partitions:
            return {}
        held = describe_spans(self._config.bootstrap_servers, source, timeout_s=TIMEOUT_S, login=self._login.librdkafka)
        copied_to = self._ends(target)
        begun = {
            at: (
                held[at].start,
                Flow(source.topic_id, tuple(sorted(self._origins))).synced(held[at].start, copied_to[at].end),
            )
            for at in partitions
        }
        self._driver.begin_with(
            [TopicPartition(target.name, at, offset, metadata=flow.to_text()) for at, (offset, flow) in begun.items()]
        )
        self._driver.commit()
        return begun

    def _flows(self, target: Topic) -> dict[int, tuple[int, Flow]]:
        places = [TopicPartition(target.name, partition) for partition in range(target.partitions)]
        return {
            mark.partition: (mark.offset, Flow.from_text(mark.metadata or ""))
            for mark in self._driver.read_of(places)
            if mark.offset >= 0
        }

    def _ends(self, target: Topic) -> Mapping[int, Span]:
        servers, login = self._config.to_bootstrap_servers, self._to_login.librdkafka
        return dict(enumerate(describe_spans(servers, target, timeout_s=TIMEOUT_S, login=login)))
