"""Runs the archive, a streaming query. The checkpoint and the sink's own log make it exactly once."""

import logging
from collections.abc import Sequence
from typing import assert_never

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream_spark.archive.checkpoint import committed_offsets
from millstream_spark.archive.columns import lake_columns
from millstream_spark.archive.config import ArchiveConfig, AvailableNow, Interval, parse_archive
from millstream_spark.archive.lineage import Lineage, check_continues, establish
from millstream_spark.errors import TopicUnavailable
from millstream_spark.lag import LagListener, OffsetCommitter, parse_offsets
from millstream_spark.login import Login, read_login
from millstream_spark.session import open_session
from millstream_spark.storage import Storage
from millstream_spark.topic import Topic, TopicMissing, describe_topic

DESCRIBE_TIMEOUT_S = 30

logger = logging.getLogger(__name__)


def run_archive(arguments: Sequence[str]) -> int:
    config = parse_archive(arguments)
    login = read_login(config.credentials)
    topic = _describe(config, login)
    spark = open_session(f"archive {config.topic}")
    try:
        storage = Storage(spark)
        lineage = establish(storage, checkpoint=config.checkpoint, output=config.output, topic=topic)
        committer = OffsetCommitter(config.bootstrap_servers, config.group_id, login=login.librdkafka)
        logger.info("archive.started topic=%s topic_id=%s output=%s", topic.name, topic.topic_id, lineage.output)
        # A run that was killed between a batch and its commit would otherwise show lag that is not there.
        if (done := committed_offsets(storage, config.checkpoint)) is not None:
            committer.commit(*done)
        spark.streams.addListener(LagListener(committer))
        query = start_query(spark, config, login)
        try:
            watch(query, config, lineage, login)
        finally:
            query.stop()
        commit_last(query, committer)
        logger.info(
            "archive.finished topic=%s commits=%d failures=%d", topic.name, committer.commits, committer.failures
        )
        return 0
    finally:
        spark.stop()


def _describe(config: ArchiveConfig, login: Login) -> Topic:
    return describe_topic(config.bootstrap_servers, config.topic, timeout_s=DESCRIBE_TIMEOUT_S, login=login.librdkafka)


def start_query(spark: SparkSession, config: ArchiveConfig, login: Login) -> StreamingQuery:
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", config.bootstrap_servers)
        .option("subscribe", config.topic)
        .option("startingOffsets", config.starting_offsets)
        .option("includeHeaders", True)
        .option("failOnDataLoss", True)
        # Only what was committed; without transactions on the topic it changes nothing.
        .option("kafka.isolation.level", "read_committed")
        # Spark asks for the latest offsets twice after every poll: fewer polls, far fewer requests.
        .option("kafka.max.poll.records", 10_000)
    )
    for name, value in login.java.items():
        reader = reader.option(f"kafka.{name}", value)
    if config.max_offsets_per_trigger is not None:
        reader = reader.option("maxOffsetsPerTrigger", config.max_offsets_per_trigger)
    writer = (
        lake_columns(reader.load(), config.partition_by)
        .writeStream.format("parquet")
        .queryName(f"archive-{config.topic}")
        .option("path", config.output)
        .option("checkpointLocation", config.checkpoint)
    )
    if config.partition_by:
        writer = writer.partitionBy(*config.partition_by)
    return _triggered(writer, config).start()


def _triggered(writer: DataStreamWriter, config: ArchiveConfig) -> DataStreamWriter:
    match config.trigger:
        case AvailableNow():
            return writer.trigger(availableNow=True)
        case Interval(interval_ms):
            return writer.trigger(processingTime=f"{interval_ms} milliseconds")
        case _:
            assert_never(config.trigger)


def watch(query: StreamingQuery, config: ArchiveConfig, lineage: Lineage, login: Login) -> None:
    """Return when the query has ended; raise if it failed, or if the topic was re-created under it."""
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(config.topic_check_interval_s))
        try:
            topic = _describe(config, login)
        except TopicMissing:
            raise
        except TopicUnavailable as error:
            # Spark meets the same outage and retries or fails by its own rules.
            logger.warning("archive.topic_check_failed topic=%s error=%s", config.topic, error)
        else:
            check_continues(lineage, Lineage(topic.name, topic.topic_id, lineage.output))


def commit_last(query: StreamingQuery, committer: OffsetCommitter) -> None:
    """Commit the last batch here too: the session may stop before its event reaches the listener."""
    progress = query.lastProgress
    if progress is not None:
        for source in progress.sources:
            if source.endOffset is not None:
                committer.commit(progress.batchId, parse_offsets(source.endOffset))
