"""What a task does: one slot of one batch, in one transaction. Runs in Spark's Python workers."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from millstream_spark.sink.marks import Cluster, MarkedWriter, Message
from millstream_spark.sink.plan import is_written

WRITTEN = "written bigint"
QUEUED_BYTES, QUEUED_ROWS = 8 << 20, 40_000


@dataclass(frozen=True, slots=True)
class SlotWriter:
    cluster: Cluster
    topic: str
    """Of rows that name none; its partitions stand for the slots."""
    name: str
    """Of the sink: transactional ids and the group begin with it."""
    batch: int

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows unless they are in the topic already; yield how many were written. Without rows: nothing."""
        task = TaskContext.get()
        assert task is not None
        slot = task.partitionId()
        written = 0
        writer: MarkedWriter | None = None
        for rows in batches:
            if rows.num_rows == 0:
                continue
            if writer is None:
                writer = self._open(slot)
                mark = writer.read()
                if is_written(None if mark is None else mark[0], self.batch):
                    # Computed to the end even so: Spark commits no batch whose state was not made.
                    for _ in batches:
                        pass
                    return
                writer.begin(self.batch + 1)
            for part in parts(rows):
                for topic, messages in _messages(part, self.topic):
                    writer.write(topic, messages)
            written += rows.num_rows
        if writer is not None:
            writer.commit()
            yield pa.RecordBatch.from_pydict({"written": pa.array([written], pa.int64())})

    def _open(self, slot: int) -> MarkedWriter:
        return MarkedWriter(
            self.cluster,
            transactional_id=f"{self.name}.{slot}",
            group_id=self.name,
            topic=self.topic,
            partition=slot,
        )


def parts(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows in parts of about so many as may be queued at once."""
    length = min(QUEUED_ROWS, max(1, rows.num_rows * QUEUED_BYTES // max(rows.nbytes, 1)))
    for start in range(0, rows.num_rows, length):
        yield rows.slice(start, length)


def _messages(rows: pa.RecordBatch, default_topic: str) -> Iterator[tuple[str, list[Message]]]:
    """Yield the rows by topic, each topic's in their order."""
    if "topic" not in rows.schema.names:
        yield default_topic, _messages_of_topic(rows)
        return
    topics = pc.fill_null(rows.column("topic"), default_topic)
    for topic in topics.unique().to_pylist():
        yield topic, _messages_of_topic(rows.filter(pc.equal(topics, topic)))


def _messages_of_topic(rows: pa.RecordBatch) -> list[Message]:
    messages: list[Message] = [{"value": value} for value in rows.column("value").to_pylist()]
    for name in ("key", "partition", "headers"):
        if name in rows.schema.names and rows.column(name).null_count < rows.num_rows:
            for message, cell in zip(messages, rows.column(name).to_pylist(), strict=True):
                if cell is not None:
                    message[name] = cell
    return messages
