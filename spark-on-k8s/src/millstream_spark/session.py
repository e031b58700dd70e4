"""The Spark session that every job here runs in: times are UTC, timestamps are ones that other readers know."""

from pyspark.sql import SparkSession


def open_session(name: str) -> SparkSession:
    return (
        SparkSession.builder.appName(name)
        .config("spark.sql.session.timeZone", "UTC")
        # Spark's default, INT96, is deprecated in Parquet and read by few others.
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .getOrCreate()
    )
