"""What the lake stores of a record, and the columns a lake may be divided by."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

RECORD_COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")

# Directory columns that are derived from the record's own timestamp, in UTC. `partition` is the record's.
DERIVED_COLUMNS = {"date": "yyyy-MM-dd", "hour": "HH"}
PARTITION_COLUMNS = (*DERIVED_COLUMNS, "partition")


def lake_columns(records: DataFrame, partition_by: tuple[str, ...]) -> DataFrame:
    columns: list[Column] = [F.col(name) for name in RECORD_COLUMNS]
    columns += [
        F.date_format("timestamp", DERIVED_COLUMNS[name]).alias(name)
        for name in partition_by
        if name in DERIVED_COLUMNS
    ]
    return records.select(columns)
