"""What is made of records: decoded rows, totals, and letters about those that cannot be counted. Pure: DataFrames in and out."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from millstream_spark.aggregate.config import Window

CORRUPT = "_corrupt_record"
REASON = "reason"
EVENT_TIME = "event_time"
COUNT = "count"
# A query ends at the window around the last microseconds that Spark can count, and would for ever.
TIMES = ("0001-01-01", "9999-12-31")


def decode(records: DataFrame, schema: str, window: Window) -> DataFrame:
    """Return the records with what their values say, the time that counts, and why they cannot be counted, null if they can."""
    with_corrupt = f"{schema}, {CORRUPT} STRING"
    text = F.col("value").cast("string")
    decoded = records.withColumn(
        "decoded", F.from_json(text, with_corrupt, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT})
    )
    when = F.col("timestamp") if window.time == "timestamp" else F.col(f"decoded.`{window.time}`")
    reason = (
        F.when(F.col("value").isNull(), "no value")
        .when(
            ~F.is_valid_utf8(text) | F.col("decoded").isNull() | F.col(f"decoded.{CORRUPT}").isNotNull(),
            "not JSON of the schema",
        )
        .when(when.isNull(), f"no {window.time}")
        .when(~when.between(*(F.lit(time).cast("timestamp") for time in TIMES)), f"{window.time} out of range")
    )
    for key in window.keys:
        reason = reason.when(F.col(f"decoded.`{key}`").isNull(), f"no {key}")
    return decoded.withColumn(EVENT_TIME, when).withColumn(REASON, reason)


def totals(decoded: DataFrame, window: Window) -> DataFrame:
    """Return the result topic's rows: for each window and key how many records, and the sums."""
    sums = [_sum(decoded, name).alias(f"sum_{name}") for name in window.sums]
    counted = (
        decoded.where(F.col(REASON).isNull())
        .withWatermark(EVENT_TIME, window.watermark)
        .groupBy(F.window(EVENT_TIME, window.length), *(F.col(f"decoded.`{name}`").alias(name) for name in window.keys))
        .agg(F.count("*").alias(COUNT), *sums)
    )
    start, end = F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end")
    return counted.select(
        F.to_json(F.struct(*window.keys, start)).alias("key"),
        F.to_json(F.struct(*window.keys, start, end, COUNT, *(f"sum_{name}" for name in window.sums))).alias("value"),
    )


def _sum(decoded: DataFrame, name: str) -> Column:
    """Return the sum of a column; of whole numbers one that no record can overflow, which would end the query for ever."""
    kind = decoded.select(f"decoded.`{name}`").schema[0].dataType
    column = F.col(f"decoded.`{name}`")
    return F.sum(column.cast("decimal(38,0)") if isinstance(kind, IntegralType) else column)


def dead_letters(decoded: DataFrame, window: Window, *, late_ms: int, topic: str) -> DataFrame:
    """Return what the totals leave out, as it was, with the reason and where it comes from in its headers.

    `late_ms`: windows that end by then are over.
    """
    # Spark leaves out rows whose window has no time, or fails at it; those have another reason anyhow.
    some_time = F.when(F.col(REASON).isNull(), F.col(EVENT_TIME)).otherwise(F.timestamp_millis(F.lit(0)))
    is_late = F.unix_millis(F.window(some_time, window.length)["end"]) <= late_ms
    reason = F.coalesce(F.col(REASON), F.when(is_late, "late"))
    about = {
        "dead-letter.reason": reason,
        "dead-letter.topic": F.col("topic"),
        "dead-letter.partition": F.col("partition").cast("string"),
        "dead-letter.offset": F.col("offset").cast("string"),
    }
    added = F.array(*(_header(name, value) for name, value in about.items()))
    headers = F.when(F.col("headers").isNull(), added).otherwise(F.concat("headers", added))
    return decoded.where(reason.isNotNull()).select(
        "key", "value", headers.alias("headers"), F.lit(topic).alias("topic")
    )


def _header(name: str, value: Column) -> Column:
    return F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value"))
