"""The Spark session that every job here runs in: times are UTC, timestamps are ones that other readers know."""

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import SparkSession

NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


def open_session(name: str, settings: Mapping[str, str] = NOTHING_MORE) -> SparkSession:
    """`settings`: Spark's own, beside what every session here has."""
    # Workers run the Python that this is, which has what they import.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName(name)
        .config("spark.sql.session.timeZone", "UTC")
        # Spark's default, INT96, is deprecated in Parquet and read by few others.
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        # A bar that is drawn again and again would go through a job's lines.
        .config("spark.ui.showConsoleProgress", "false")
    )
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    return builder.getOrCreate()
