"""Runs the archive, a streaming query. The checkpoint and the lake's own log make it exactly once."""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream_spark.archive.columns import lake_columns
from millstream_spark.archive.config import ArchiveConfig, parse_archive
from millstream_spark.delta_table import LOG, DeltaTable, session_settings
from millstream_spark.login import Login, read_login
from millstream_spark.source import check_settings, read_options
from millstream_spark.spark_session import open_session
from millstream_spark.storage import Storage
from millstream_spark.streaming import Stream, run_stream, sigterm
from millstream_spark.topic import Topic
from millstream_spark.trigger import triggered


def run_archive(arguments: Sequence[str]) -> int:
    config = parse_archive(arguments)
    login = read_login(config.credentials)
    stream = Stream(
        job="archive",
        bootstrap_servers=config.bootstrap_servers,
        topic=config.topic,
        checkpoint=config.checkpoint,
        output=config.output,
        group_id=config.group_id,
        login=login,
        starting_offsets=config.starting_offsets,
        topic_check_interval_s=config.topic_check_interval_s,
    )
    with sigterm() as stop:
        topic = stream.describe()
        spark = open_session(f"archive {config.topic}", session_settings(config.lake_format))
        try:
            check_settings(spark, config.kafka)
            storage = Storage(spark)
            run_stream(
                spark,
                replace(stream, output=_output(storage, config)),
                topic,
                lambda: start_query(spark, config, login, topic),
                output_is_begun=any(storage.names(f"{config.output}/{log}") for log in ("_spark_metadata", LOG)),
                stop=stop,
            )
        finally:
            spark.stop()
    return 0


def _output(storage: Storage, config: ArchiveConfig) -> str:
    """Return the lake's place; a table is another lake than a directory at the same one."""
    place = storage.qualify(config.output)
    return f"delta:{place}" if config.lake_format == "delta" else place


def start_query(spark: SparkSession, config: ArchiveConfig, login: Login, topic: Topic) -> StreamingQuery:
    reader = (
        spark.readStream.format("kafka")
        .options(
            **read_options(
                config.bootstrap_servers, config.topic, login, config.kafka, skip_deleted=config.skip_deleted
            )
        )
        .option("startingOffsets", config.starting_offsets)
        .option("maxOffsetsPerTrigger", config.max_offsets_per_trigger)
    )
    rows = lake_columns(reader.load(), config.partition_by)
    writer = rows.writeStream.queryName(f"archive-{config.topic}").option("checkpointLocation", config.checkpoint)
    if config.lake_format == "delta":
        table = DeltaTable(
            config.output,
            topic=topic.name,
            topic_id=topic.topic_id,
            checkpoint=config.checkpoint,
            partition_by=config.partition_by,
        )
        writer = writer.foreachBatch(table.store)
    else:
        writer = writer.format("parquet").option("path", config.output)
        if config.partition_by:
            writer = writer.partitionBy(*config.partition_by)
    return triggered(writer, config.trigger).start()
