"""Counts what a lake holds of each partition of a topic: missing offsets and records stored twice.

Reads as Spark reads, through the sink's own log, so files that a killed job left behind do not count. A topic with
transactions has offsets that are nobody's record: there `--allow-missing` leaves the verdict to the duplicates.
"""

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millstream_spark.errors import JobError, LakeIncomplete
from millstream_spark.session import open_session

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PartitionAudit:
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    records: int
    missing: int
    duplicates: int


def run_audit(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="audit", description="Count a lake's records, missing offsets and duplicates."
    )
    parser.add_argument("--lake", required=True)
    parser.add_argument("--allow-missing", action="store_true", help="for transactional or compacted topics")
    words = parser.parse_args(arguments)
    spark = open_session("audit")
    try:
        partitions = audit(spark.read.parquet(words.lake))
    except (AnalysisException, Py4JJavaError) as error:
        raise JobError(f"{words.lake} cannot be read as a lake: {str(error).splitlines()[0]}") from error
    finally:
        spark.stop()
    for partition in partitions:
        print(json.dumps(asdict(partition)), flush=True)
    missing = sum(partition.missing for partition in partitions)
    duplicates = sum(partition.duplicates for partition in partitions)
    records = sum(partition.records for partition in partitions)
    print(json.dumps({"records": records, "missing": missing, "duplicates": duplicates}), flush=True)
    if duplicates or (missing and not words.allow_missing):
        raise LakeIncomplete(f"{words.lake}: missing={missing} duplicates={duplicates}")
    return 0


def audit(lake: DataFrame) -> list[PartitionAudit]:
    rows = (
        lake.groupBy("topic", "partition")
        .agg(
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            F.count("offset").alias("records"),
            F.countDistinct("offset").alias("distinct"),
        )
        .orderBy("topic", "partition")
        .collect()
    )
    return [
        PartitionAudit(
            topic=row["topic"],
            partition=row["partition"],
            first_offset=row["first"],
            last_offset=row["last"],
            records=row["records"],
            missing=row["last"] - row["first"] + 1 - row["distinct"],
            duplicates=row["records"] - row["distinct"],
        )
        for row in rows
    ]
