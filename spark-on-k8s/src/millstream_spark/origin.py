"""What a bounded job reads: ranges of a topic, one task for each partition, through the brokers or from closed segments.

The brokers say what there is either way; segments only spare them the reading.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
from pyspark.sql import SparkSession

from millstream_spark.login import Login
from millstream_spark.position import AtOffsets, AtTime, Position, ranges
from millstream_spark.segments.directory import Wanted, plan_segments
from millstream_spark.segments.reading import read_segment
from millstream_spark.source import read_options
from millstream_spark.topic import Span, Topic, describe_spans, offsets_at

TIMEOUT_S = 30

Rows = Iterator[pa.RecordBatch]
Work = Callable[[Rows], Rows]
"""What a task does with one partition's records, which come in their order."""


@dataclass(frozen=True, slots=True)
class Origin:
    bootstrap_servers: str
    topic: Topic
    login: Login
    segments: tuple[Path, ...] = ()
    """Brokers' data directories, or copies of them; none: through the brokers."""

    def resolve(self, start: Position | None, end: Position | None) -> dict[int, Span]:
        """Return the range of each partition; None: as far as it goes now. Raises BadOffsets, SegmentsUnavailable."""
        held = self._held()
        return ranges(held, self._offsets(start, held), self._offsets(end, held))

    def each_partition(
        self, spark: SparkSession, wanted: Mapping[int, Span], columns: tuple[str, ...], work: Work, schema: str
    ) -> list[dict[str, Any]]:
        """Do the work on each partition's range in a task of its own; return the rows that they yield."""
        if self.segments:
            tasks = [(partition, span.start, span.end) for partition, span in wanted.items()]
            segment_task = SegmentTask(self.segments, self.topic, columns, work)
            return spark.sparkContext.parallelize(tasks, len(tasks)).flatMap(segment_task).collect()
        options = dict(read_options(self.bootstrap_servers, self.topic.name, self.login))
        del options["subscribe"]

        def positions(which: str) -> str:
            return json.dumps({self.topic.name: {str(at): getattr(span, which) for at, span in wanted.items()}})

        records = (
            spark.read.format("kafka")
            .options(**options)
            .option("assign", json.dumps({self.topic.name: sorted(wanted)}))
            .option("startingOffsets", positions("start"))
            .option("endingOffsets", positions("end"))
            .load()
        )
        return [row.asDict() for row in records.select(*columns).mapInArrow(work, schema).collect()]

    def _held(self) -> dict[int, Span]:
        login = self.login.librdkafka
        spans = dict(enumerate(describe_spans(self.bootstrap_servers, self.topic, timeout_s=TIMEOUT_S, login=login)))
        if not self.segments:
            return spans
        ends = {partition: span.end for partition, span in spans.items()}
        closed = dict.fromkeys(spans, 0)
        for segment in plan_segments(self.segments, self.topic.name, Wanted(ends=ends, topic_id=self.topic.topic_id)):
            closed[segment.partition] = max(closed[segment.partition], segment.end)
        return {partition: Span(span.start, max(span.start, closed[partition])) for partition, span in spans.items()}

    def _offsets(self, position: Position | None, held: Mapping[int, Span]) -> Mapping[int, int] | None:
        match position:
            case None:
                return None
            case AtOffsets(offsets):
                return offsets
            case AtTime(timestamp_ms):
                login = self.login.librdkafka
                at = offsets_at(self.bootstrap_servers, self.topic, timestamp_ms, timeout_s=TIMEOUT_S, login=login)
                # Nothing that is newer: at the end. A record of a transaction that is open lies behind it.
                return {
                    partition: span.end if at[partition] < 0 else min(at[partition], span.end)
                    for partition, span in held.items()
                }
            case _:
                assert_never(position)


@dataclass(frozen=True, slots=True)
class SegmentTask:
    """Runs in Spark's Python workers."""

    directories: tuple[Path, ...]
    topic: Topic
    columns: tuple[str, ...]
    work: Work

    def __call__(self, task: tuple[int, int, int]) -> Iterator[dict[str, Any]]:
        for batch in self.work(self._read(*task)):
            yield from batch.to_pylist()

    def _read(self, partition: int, start: int, end: int) -> Rows:
        wanted = Wanted(frozenset([partition]), {partition: start}, {partition: end}, topic_id=self.topic.topic_id)
        for segment in plan_segments(self.directories, self.topic.name, wanted):
            yield from read_segment(segment, self.columns, None)
