"""`spark.read.format("millstream-segments")`: the rows of Spark's Kafka source, without a broker.

spark.dataSource.register(SegmentsSource)
spark.read.format("millstream-segments").options(path="/data", topic="orders").load()
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from millstream_spark.errors import SegmentsUnavailable
from millstream_spark.segments.columns import SPARK
from millstream_spark.segments.directory import Segment, Wanted, plan_segments
from millstream_spark.segments.reading import read_segment

OPTIONS = {
    "path": "a broker's data directory; several with commas between them",
    "topic": "one topic",
    "columns": "those that are wanted, with commas between them; Spark does not tell a Python source which a query needs",
    "partitions": "those that are wanted, with commas between them",
    "since": "2026-01-31T00:00:00Z: files and batches of which every record is older are left out",
    "startingoffsets": 'JSON: {"0": 100}; every partition that is not named from its beginning',
    "endingoffsets": 'JSON: {"0": 200}; needed where the directory does not say what is committed',
}


class SegmentsReader(DataSourceReader):
    """Takes no filters from Spark: 4.2 keeps what one query pushed down for every later one of the same DataFrame."""

    def __init__(self, columns: tuple[str, ...], options: dict[str, str]) -> None:
        unknown = options.keys() - OPTIONS.keys()
        if unknown or not {"path", "topic"} <= options.keys():
            raise SegmentsUnavailable(
                f"options are path and topic, and may be {', '.join(OPTIONS)}; not {sorted(unknown)}"
            )
        self._columns = columns
        self._directories = [Path(path) for path in options["path"].split(",")]
        self._topic = options["topic"]
        self._starts = _offsets(options, "startingoffsets")
        self._ends = _offsets(options, "endingoffsets")
        self._partitions = _partitions(options)
        self._since_ms = _since_ms(options)

    def partitions(self) -> list[InputPartition]:
        wanted = Wanted(self._partitions, self._starts, self._ends, self._since_ms)
        return list(plan_segments(self._directories, self._topic, wanted))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark asks for one that is nothing if there are none.
        return read_segment(partition, self._columns, self._since_ms) if isinstance(partition, Segment) else iter(())


class SegmentsSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "millstream-segments"

    def schema(self) -> str:
        names = self.options.get("columns", ",".join(SPARK)).split(",")
        unknown = [name for name in names if name not in SPARK]
        if unknown or len(set(names)) != len(names):
            raise SegmentsUnavailable(f"columns={','.join(names)} are not some of {','.join(SPARK)}")
        return ", ".join(f"`{name}` {SPARK[name]}" for name in names)

    def reader(self, schema: StructType) -> SegmentsReader:
        return SegmentsReader(tuple(schema.fieldNames()), dict(self.options))


def _partitions(options: dict[str, str]) -> frozenset[int] | None:
    if "partitions" not in options:
        return None
    try:
        return frozenset(int(number) for number in options["partitions"].split(","))
    except ValueError:
        raise SegmentsUnavailable(f"partitions={options['partitions']!r} are not numbers such as 0,2") from None


def _since_ms(options: dict[str, str]) -> int | None:
    if "since" not in options:
        return None
    try:
        moment = datetime.fromisoformat(options["since"])
    except ValueError:
        raise SegmentsUnavailable(f"since={options['since']!r} is not a time such as 2026-01-31T00:00:00Z") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _offsets(options: dict[str, str], name: str) -> dict[int, int] | None:
    if name not in options:
        return None
    try:
        return {int(partition): int(offset) for partition, offset in json.loads(options[name]).items()}
    except (ValueError, AttributeError, TypeError):
        raise SegmentsUnavailable(f'{name}={options[name]!r} is not JSON such as {{"0": 100}}') from None
