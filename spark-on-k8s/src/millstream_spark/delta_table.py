"""A Delta table whose commits say which batch of which topic they hold, so that the table itself says where to go on.

A batch and its place in the topic are one commit. Delta drops a batch whose number it has under the same application's name,
also one of a new checkpoint, which begins at 0 again: so what is written is first held against the table's last commit.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream_spark.checkpoint import planned_batch
from millstream_spark.errors import LineageBroken
from millstream_spark.lag import Offsets
from millstream_spark.storage import Storage

SESSION = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Tasks that put a table's state together. Delta's 50 are for tables of millions of files, and cost every commit.
    "spark.databricks.delta.snapshotPartitions": "2",
}
LOG = "_delta_log"
HISTORY_LIMIT = 1000
"""Commits that are looked through for ours: what others do to the table, compact it for one, are commits too."""


@dataclass(frozen=True, slots=True)
class Commit:
    topic_id: str
    batch: int
    end: Offsets

    def to_text(self, topic: str) -> str:
        return json.dumps({"topic": topic, "topicId": self.topic_id, "batch": self.batch, "endOffsets": self.end})

    @staticmethod
    def from_text(text: str) -> "Commit | None":
        """Return None for what another application said of its commit."""
        try:
            found = json.loads(text)
            return Commit(found["topicId"], found["batch"], found["endOffsets"])
        except (ValueError, KeyError, TypeError):
            return None


def is_stored(last: Commit | None, batch: Commit, start: Offsets | None) -> bool:
    """Return whether the table has the batch already; raise LineageBroken unless it is that or the next one.

    `start`: where the batch before it ended, None if it is the first.
    """
    if last is None:
        if batch.batch == 0:
            return False
        raise LineageBroken(f"the checkpoint is at batch {batch.batch}, and no commit of the table is this job's")
    if last.topic_id != batch.topic_id:
        raise LineageBroken(f"the table is of topic id {last.topic_id}, the cluster has {batch.topic_id}")
    if last.batch == batch.batch and last.end == batch.end:
        return True
    if last.batch == batch.batch - 1 and last.end == start:
        return False
    raise LineageBroken(
        f"the table ends with batch {last.batch} at {last.end}, and the checkpoint is at batch {batch.batch} up to {batch.end}: "
        "it was lost, is older than the table, or another one's"
    )


class DeltaTable:
    def __init__(self, path: str, *, topic: str, topic_id: str, checkpoint: str, partition_by: tuple[str, ...]) -> None:
        self._path = path
        self._topic = topic
        self._topic_id = topic_id
        self._checkpoint = checkpoint
        self._partition_by = partition_by
        self._last: Commit | None = None
        self._is_read = False

    def store(self, rows: DataFrame, number: int) -> None:
        """Append a batch unless the table has it; raise LineageBroken if it is not the table's next."""
        spark = rows.sparkSession
        storage = Storage(spark)
        if not self._is_read:
            self._last, self._is_read = self._read_last(spark, storage), True
        batch = Commit(self._topic_id, number, self._end(storage, number))
        start = self._end(storage, number - 1) if number else None
        if is_stored(self._last, batch, start):
            return
        # Two drivers that come here at once: Delta lets one of them commit under this name and number.
        writer = rows.write.format("delta").mode("append").option("txnAppId", f"archive {self._topic_id}")
        writer = writer.option("txnVersion", number).option("userMetadata", batch.to_text(self._topic))
        if self._partition_by:
            writer = writer.partitionBy(*self._partition_by)
        writer.save(self._path)
        self._last = batch

    def _read_last(self, spark: SparkSession, storage: Storage) -> Commit | None:
        if not storage.names(f"{self._path}/{LOG}"):
            return None
        quoted = self._path.replace("`", "``")
        history = spark.sql(f"DESCRIBE HISTORY delta.`{quoted}` LIMIT {HISTORY_LIMIT}")
        said = history.where("userMetadata IS NOT NULL").orderBy(F.desc("version")).select("userMetadata").collect()
        return next((commit for row in said if (commit := Commit.from_text(row[0])) is not None), None)

    def _end(self, storage: Storage, number: int) -> Offsets:
        planned = planned_batch(storage, self._checkpoint, number)
        if planned is None:
            raise LineageBroken(f"checkpoint {self._checkpoint} does not say where batch {number} ends")
        return planned.end


def session_settings(lake_format: str) -> Mapping[str, str]:
    """Return what Spark needs to know before it reads or writes a lake of this format."""
    return SESSION if lake_format == "delta" else {}
