"""What a task does: one partition's records into Parquet files, each for so many offsets. Runs in Spark's Python workers.

A file is hidden until it is whole, and has then a name that says what it is for: a task that is tried again, or one of which
there are two, makes the same files again.
"""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millstream_spark.backfill.plan import part_name
from millstream_spark.segments.columns import ARROW

WRITTEN = "name string, records bigint, bytes bigint"
ROW_GROUP_BYTES = 32 << 20

SCHEMA = pa.schema(list(ARROW.items()))


@dataclass(frozen=True, slots=True)
class PartWriter:
    directory: str
    topic: str
    part_offsets: int

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the files that were written, with how many records. Where no offset is a record's there is no file."""
        part: Part | None = None
        try:
            for batch in batches:
                rows = batch.select(SCHEMA.names).cast(SCHEMA)
                while rows.num_rows:
                    partition, offset = rows.column("partition")[0].as_py(), rows.column("offset")[0].as_py()
                    number = offset // self.part_offsets
                    if part is not None and part.number != number:
                        yield part.publish()
                        part = None
                    if part is None:
                        part = Part(Path(self.directory), part_name(self.topic, partition, number), number)
                    offsets = rows.column("offset").to_numpy()
                    count = int(np.searchsorted(offsets, (number + 1) * self.part_offsets))
                    part.add(rows.slice(0, count))
                    rows = rows.slice(count)
            if part is not None:
                yield part.publish()
                part = None
        finally:
            if part is not None:
                part.discard()


class Part:
    """One file that is being written."""

    def __init__(self, directory: Path, name: str, number: int) -> None:
        self.number = number
        self._path = directory / name
        self._hidden = directory / f".{name}.{uuid.uuid4().hex}"
        self._writer = pq.ParquetWriter(str(self._hidden), SCHEMA)
        self._rows: list[pa.RecordBatch] = []
        self._bytes = 0
        self._count = 0

    def add(self, rows: pa.RecordBatch) -> None:
        self._rows.append(rows)
        self._bytes += rows.nbytes
        self._count += rows.num_rows
        if self._bytes >= ROW_GROUP_BYTES:
            self._write_row_group()

    def publish(self) -> pa.RecordBatch:
        self._write_row_group()
        self._writer.close()
        with self._hidden.open("rb") as file:
            os.fsync(file.fileno())
        size = self._hidden.stat().st_size
        self._hidden.rename(self._path)
        return pa.RecordBatch.from_pylist([{"name": self._path.name, "records": self._count, "bytes": size}])

    def discard(self) -> None:
        self._hidden.unlink(missing_ok=True)

    def _write_row_group(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_batches(self._rows))
        self._rows, self._bytes = [], 0
