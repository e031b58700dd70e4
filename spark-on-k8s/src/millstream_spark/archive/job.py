"""Runs the archive, a streaming query. The checkpoint and the sink's own log make it exactly once."""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream_spark.archive.columns import lake_columns
from millstream_spark.archive.config import ArchiveConfig, parse_archive
from millstream_spark.login import Login, read_login
from millstream_spark.source import read_options
from millstream_spark.spark_session import open_session
from millstream_spark.storage import Storage
from millstream_spark.streaming import Stream, run_stream
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
        topic_check_interval_s=config.topic_check_interval_s,
    )
    topic = stream.describe()
    spark = open_session(f"archive {config.topic}")
    try:
        storage = Storage(spark)
        run_stream(
            spark,
            replace(stream, output=storage.qualify(config.output)),
            topic,
            lambda: start_query(spark, config, login),
            output_is_begun=bool(storage.names(f"{config.output}/_spark_metadata")),
        )
        return 0
    finally:
        spark.stop()


def start_query(spark: SparkSession, config: ArchiveConfig, login: Login) -> StreamingQuery:
    reader = (
        spark.readStream.format("kafka")
        .options(**read_options(config.bootstrap_servers, config.topic, login))
        .option("startingOffsets", config.starting_offsets)
    )
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
    return triggered(writer, config.trigger).start()
