"""Compares what is stored of a topic with the topic itself, record by record. Pure: DataFrames in, one row a partition out."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from millstream_spark.digest import record_digest
from millstream_spark.topic import Span

FAULTS = ("missing", "duplicates", "altered", "foreign", "out_of_order")
COUNTS = ("records", "stored", *FAULTS, "replaced", "expired")


def compare_by_offset(
    topic: DataFrame, stored: DataFrame, spans: Mapping[int, Span], held: Mapping[int, Span], *, compacted: bool
) -> DataFrame:
    """Return the counts of each partition; a record is known by its offset.

    `topic` has the committed records of `spans`; `held` is all that the topic holds: what is stored between the ends of both
    is newer than what is compared. A compacted topic may lack what is stored, if a later record has its key.
    """
    mine = topic.select("partition", "offset", record_digest(F.col("offset")).alias("digest"))
    theirs = stored.select(
        "partition",
        "offset",
        record_digest(F.col("offset")).alias("digest"),
        (_was_replaced() if compacted else F.lit(False)).alias("replaced"),
    )
    nothing = F.lit(None).cast("bigint")
    both = mine.select(
        "partition", "offset", F.col("digest").alias("told"), nothing.alias("kept"), F.lit(False).alias("replaced")
    )
    both = both.unionByName(
        theirs.select("partition", "offset", nothing.alias("told"), F.col("digest").alias("kept"), "replaced")
    )
    by_offset = both.groupBy("partition", "offset").agg(
        F.max("told").alias("told"),
        F.count("kept").alias("copies"),
        F.min("kept").alias("least"),
        F.max("kept").alias("most"),
        F.sum(F.col("kept").cast("decimal(38,0)")).alias("kept"),
        F.max("replaced").alias("replaced"),
    )
    start, end, held_end = (
        _by_partition({partition: span.start for partition, span in spans.items()}),
        _by_partition({partition: span.end for partition, span in spans.items()}),
        _by_partition({partition: span.end for partition, span in held.items()}),
    )
    offset, copies = F.col("offset"), F.col("copies")
    by_offset = by_offset.where(held_end.isNull() | (offset < end) | (offset >= held_end))
    told = F.col("told").isNotNull()
    expired = ~told & F.coalesce(offset < start, F.lit(False))
    faults = {
        "missing": (told & (copies == 0)).cast("int"),
        "duplicates": F.greatest(copies - 1, F.lit(0)),
        "altered": (told & (copies > 0) & ((F.col("least") != F.col("told")) | (F.col("most") != F.col("told")))).cast(
            "int"
        ),
        "foreign": (~told & ~expired & ~F.col("replaced")).cast("int"),
        "out_of_order": F.lit(0),
    }
    return by_offset.groupBy("partition").agg(
        F.count("told").alias("records"),
        F.sum("copies").alias("stored"),
        *(F.sum(count).alias(name) for name, count in faults.items()),
        F.sum((~told & ~expired & F.col("replaced")).cast("int")).alias("replaced"),
        F.sum(expired.cast("int")).alias("expired"),
        F.min(F.when(sum(faults.values(), F.lit(0)) > 0, offset)).alias("first_fault"),
        F.sum(F.col("told").cast("decimal(38,0)")).alias("checksum"),
        F.sum(F.when(told, F.col("kept"))).alias("stored_checksum"),
    )


def compare_in_order(topic: DataFrame, copy: DataFrame) -> DataFrame:
    """Return the counts of each partition of a copy whose offsets are its own: the same records, in the same order.

    Records that are there more than once are told apart by how often; the order is looked at only where nothing else is wrong.
    """
    mine = topic.select("partition", "offset", record_digest().alias("digest"))
    theirs = copy.select("partition", "offset", record_digest().alias("digest"))
    counted = (
        _counted(mine, "told")
        .join(_counted(theirs, "kept"), ["partition", "digest"], "full")
        .select(
            "partition",
            "digest",
            *(
                F.coalesce(name, F.lit(0)).alias(name)
                for name in (
                    "told",
                    "kept",
                )
            ),
        )
    )
    told, kept, digest = F.col("told"), F.col("kept"), F.col("digest").cast("decimal(38,0)")
    faults = {
        "missing": F.greatest(told - kept, F.lit(0)),
        "duplicates": F.when(told > 0, F.greatest(kept - told, F.lit(0))).otherwise(0),
        "altered": F.lit(0),
        "foreign": F.when(told == 0, kept).otherwise(0),
    }
    totals = counted.groupBy("partition").agg(
        F.sum("told").alias("records"),
        F.sum("kept").alias("stored"),
        *(F.sum(count).alias(name) for name, count in faults.items()),
        F.sum(digest * told).alias("checksum"),
        F.sum(digest * kept).alias("stored_checksum"),
    )
    moved = (
        _placed(mine, "told")
        .join(_placed(theirs, "kept"), ["partition", "place"])
        .groupBy("partition")
        .agg(
            F.sum((F.col("told") != F.col("kept")).cast("int")).alias("moved"),
            F.min(F.when(F.col("told") != F.col("kept"), F.col("told_offset"))).alias("first_fault"),
        )
    )
    whole = (F.col("missing") == 0) & (F.col("duplicates") == 0) & (F.col("foreign") == 0)
    return totals.join(moved, "partition", "left").select(
        "partition",
        "records",
        "stored",
        *faults,
        F.when(whole, F.coalesce("moved", F.lit(0))).otherwise(0).alias("out_of_order"),
        F.lit(0).alias("replaced"),
        F.lit(0).alias("expired"),
        "first_fault",
        "checksum",
        "stored_checksum",
    )


def _was_replaced() -> Column:
    """Return whether compaction may have removed the row: a later one has its key, or it is a tombstone."""
    later = F.max("offset").over(Window.partitionBy("partition", "key")) > F.col("offset")
    return F.col("key").isNotNull() & (later | F.col("value").isNull())


def _by_partition(numbers: Mapping[int, int]) -> Column:
    pairs = [F.lit(each) for pair in numbers.items() for each in pair]
    return F.try_element_at(F.create_map(*pairs), F.col("partition"))


def _counted(rows: DataFrame, name: str) -> DataFrame:
    return rows.groupBy("partition", "digest").agg(F.count("*").alias(name))


def _placed(rows: DataFrame, name: str) -> DataFrame:
    place = F.row_number().over(Window.partitionBy("partition").orderBy("offset"))
    return rows.select(
        "partition", place.alias("place"), F.col("digest").alias(name), F.col("offset").alias(f"{name}_offset")
    )
