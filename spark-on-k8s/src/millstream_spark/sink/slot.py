"""What a task does: one slot of one batch, in one transaction. Runs in Spark's Python workers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream_spark.sink.marks import Cluster, MarkedWriter
from millstream_spark.sink.plan import is_written


@dataclass(frozen=True, slots=True)
class SlotWriter:
    cluster: Cluster
    topic: str
    name: str
    """Of the sink: transactional ids and the group begin with it."""
    batch: int

    def __call__(self, slot: int, rows: Iterable[Any]) -> Iterator[int]:
        """Write the rows unless they are in the topic already; yield how many were written. Without rows: nothing."""
        written = 0
        writer: MarkedWriter | None = None
        for row in rows:
            if writer is None:
                writer = self._open(slot)
                if is_written(_batch_of(writer.read()), self.batch):
                    return
                writer.begin(self.batch + 1)
            headers = None if row.headers is None else [(header.key, _bytes(header.value)) for header in row.headers]
            writer.write(self.topic, _bytes(row.key), _bytes(row.value), headers, row.partition)
            written += 1
        if writer is not None:
            writer.commit()
            yield written

    def _open(self, slot: int) -> MarkedWriter:
        return MarkedWriter(
            self.cluster,
            transactional_id=f"{self.name}.{slot}",
            group_id=self.name,
            topic=self.topic,
            partition=slot,
        )


def _batch_of(mark: tuple[int, str] | None) -> int | None:
    return None if mark is None else mark[0] - 1


# Spark hands binary columns over as bytearrays or bytes, by its settings; librdkafka takes bytes.
def _bytes(value: bytes | bytearray | str | None) -> bytes | str | None:
    return bytes(value) if isinstance(value, bytearray) else value
