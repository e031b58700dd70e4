"""What a task does: one partition of the source into the partition of that number, some records a transaction. Runs in Python workers.

A transaction holds records and, as the mark, the source's offset behind them. A task that is tried again begins where it began
at first, reads the mark once it has fenced whoever wrote before, and leaves out what lies before it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from millstream_spark.errors import SinkRefused
from millstream_spark.sink.marks import Cluster, MarkedWriter, Message
from millstream_spark.sink.slot import parts

COLUMNS = ("partition", "offset", "timestamp", "key", "value", "headers")
COPIED = "partition int, copied bigint"
TRANSACTION_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class PartitionCopier:
    cluster: Cluster
    topic: str
    group_id: str
    """Transactional ids begin with it."""
    ends: Mapping[int, int]
    """Of each partition's range."""
    renewed: Callable[[str, int, int], str] | None = None
    """Gives a mark's note anew, from the one that was and the offsets that belong together; None: it stays."""

    def copy(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Copy the rows of one partition, in their order; yield how many."""
        writer: MarkedWriter | None = None
        partition = copied = in_transaction = mark = 0
        note = ""
        for rows in batches:
            if rows.num_rows == 0:
                continue
            if writer is None:
                partition = rows.column("partition")[0].as_py()
                writer = self._open(partition)
                found = writer.read()
                if found is None:  # the driver marks every partition first
                    raise SinkRefused(f"{self.topic}-{partition} has lost its mark in group {self.group_id}")
                mark, note = found
                note = self._renewed(writer, note, mark)
            rows = rows.filter(pc.greater_equal(rows.column("offset"), mark))
            if rows.num_rows == 0:
                continue
            mark = rows.column("offset")[-1].as_py() + 1
            if in_transaction == 0:
                # It is moved on with the rest of the transaction's records.
                writer.begin(mark, note)
            else:
                writer.mark(mark, note)
            for part in parts(rows):
                writer.write(self.topic, _messages(part))
            copied += rows.num_rows
            in_transaction += rows.num_rows
            if in_transaction >= TRANSACTION_ROWS:
                writer.commit()
                in_transaction = 0
                note = self._renewed(writer, note, mark)
        if writer is not None:
            # What is between the last record and the end are markers and gaps: the range is done. Whoever came later may be
            # further: a task that was thought dead takes nothing back.
            end = self.ends[partition]
            if in_transaction:
                writer.mark(max(mark, end), note)
                writer.commit()
            elif mark < end:
                writer.begin(end, note)
                writer.commit()
            yield pa.RecordBatch.from_pydict(
                {"partition": pa.array([partition], pa.int32()), "copied": pa.array([copied], pa.int64())}
            )

    def pass_over(self, partition: int, note: str) -> None:
        """Move the mark to the end of a range without any record, which no task knows of."""
        writer = self._open(partition)
        writer.begin(self.ends[partition], note)
        writer.commit()

    def _renewed(self, writer: MarkedWriter, note: str, mark: int) -> str:
        return note if self.renewed is None else self.renewed(note, mark, writer.end())

    def _open(self, partition: int) -> MarkedWriter:
        return MarkedWriter(
            self.cluster,
            transactional_id=f"{self.group_id}.{partition}",
            group_id=self.group_id,
            topic=self.topic,
            partition=partition,
        )


def _messages(rows: pa.RecordBatch) -> list[Message]:
    columns = [rows.column(name).to_pylist() for name in ("key", "value", "partition", "headers")]
    timestamps_us = rows.column("timestamp").cast(pa.int64()).to_pylist()
    messages = []
    for timestamp_us, key, value, partition, headers in zip(timestamps_us, *columns, strict=True):
        message = {"key": key, "value": value, "partition": partition, "timestamp": timestamp_us // 1000}
        if headers is not None:
            message["headers"] = headers
        messages.append(message)
    return messages
