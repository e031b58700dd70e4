"""The segment source beside Spark's Kafka connector: the same rows, from the files of a real broker."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from broker import Sent, Topics
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from segmented import MIDNIGHT_MS, SEGMENT_MS, closed_ends, in_segments, of_every_kind

from millstream_spark.digest import record_digest
from millstream_spark.login import Login
from millstream_spark.segments.source import SegmentsSource
from millstream_spark.source import read_options
from millstream_spark.spark_session import open_session
from millstream_spark.topic import describe_spans, describe_topic


@pytest.fixture
def spark() -> SparkSession:
    session = open_session("segments")
    session.dataSource.register(SegmentsSource)
    return session


def segments(spark: SparkSession, directory: Path, name: str, **options: str) -> DataFrame:
    return spark.read.format("millstream-segments").options(path=str(directory), topic=name, **options).load()


def summary(rows: DataFrame) -> list[Any]:
    """Return for each partition what there is, and a checksum of all columns."""
    return [
        tuple(row)
        for row in rows.groupBy("topic", "partition")
        .agg(
            F.count("*"),
            F.min("offset"),
            F.max("offset"),
            F.sum("timestampType"),
            F.sum(record_digest(F.col("offset")).cast("decimal(38,0)")),
        )
        .orderBy("partition")
        .collect()
    ]


def through_the_broker(spark: SparkSession, bootstrap_servers: str, name: str, ends: dict[str, int]) -> DataFrame:
    reader = spark.read.format("kafka").options(**read_options(bootstrap_servers, name, Login()))
    return reader.option("endingOffsets", json.dumps({name: ends})).load()


def test_the_rows_are_the_connectors(
    spark: SparkSession, topics: Topics, segmented: str, bootstrap_servers: str, data_directory: Path
) -> None:
    of_every_kind(topics, segmented)
    opened = topics.begin_transaction(segmented, [Sent(0, None, b"open", MIDNIGHT_MS)])
    # Later than the markers of transactions, which carry the broker's time.
    in_segments(topics, segmented, 2, first_ms=int(time.time() * 1000) + 1_200_000)
    ends = closed_ends(data_directory, segmented)
    stable = describe_spans(bootstrap_servers, describe_topic(bootstrap_servers, segmented, timeout_s=30), timeout_s=30)
    assert stable[0].end < ends["0"], "the transaction that is open comes before the end of what is closed"
    readable = {partition: min(end, stable[int(partition)].end) for partition, end in ends.items()}
    found = summary(segments(spark, data_directory, segmented))
    assert found == summary(through_the_broker(spark, bootstrap_servers, segmented, readable))
    opened.abort_transaction(60)


def test_options_leave_out_files_and_no_rows_that_are_wanted(
    spark: SparkSession, topics: Topics, segmented: str, data_directory: Path
) -> None:
    in_segments(topics, segmented, 3, first_ms=MIDNIGHT_MS)
    assert set(closed_ends(data_directory, segmented).values()) == {270}
    columns = "partition,offset,timestamp"
    rows = segments(spark, data_directory, segmented, columns=columns)
    assert rows.rdd.getNumPartitions() == 27
    few = segments(spark, data_directory, segmented, columns=columns, partitions="1", startingOffsets='{"1": 100}')
    assert few.rdd.getNumPartitions() == 6
    assert [tuple(row)[:2] for row in few.orderBy("offset").collect()] == [(1, offset) for offset in range(100, 270)]
    later_ms = MIDNIGHT_MS + 2 * SEGMENT_MS * 5
    later = datetime.fromtimestamp(later_ms / 1000, UTC)
    since = segments(spark, data_directory, segmented, columns=columns, since=later.isoformat())
    assert since.rdd.getNumPartitions() == 12
    assert since.agg(F.count("*"), F.unix_millis(F.min("timestamp"))).first() == (360, later_ms)
    # Nothing that one query asks for is kept for another of the same rows.
    assert rows.where("partition = 1").count() == 270
    assert rows.count() == 810
