"""What a bounded job reads: ranges of a topic, through the brokers or from closed segments.

The brokers say what there is either way; segments only spare them the reading.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from millstream_spark.errors import LineageBroken
from millstream_spark.login import Login
from millstream_spark.position import AtOffsets, AtTime, Position, check_left, ranges
from millstream_spark.segments.directory import Wanted, plan_segments
from millstream_spark.segments.reading import read_segment
from millstream_spark.source import check_settings, read_options
from millstream_spark.topic import Span, Topic, describe_spans, describe_topic, offsets_at

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
    kafka: Mapping[str, str] = field(default_factory=dict)
    """Settings of the consumer that reads."""

    def resolve(self, start: Position | None, end: Position | None) -> dict[int, Span]:
        """Return the range of each partition; None: as far as it goes now. Raises BadOffsets, SegmentsUnavailable."""
        held = self._held()
        return ranges(held, self._offsets(start, held), self._offsets(end, held))

    def each_partition(
        self, spark: SparkSession, wanted: Mapping[int, Span], columns: tuple[str, ...], work: Work, schema: str
    ) -> list[dict[str, Any]]:
        """Do the work on each partition's range in a task of its own; return the rows that they yield.

        Raises RecordsGone for a range that was there when it was planned, LineageBroken for a topic that is another by now.
        """
        check_left(self.topic.name, self._spans(), {partition: span.start for partition, span in wanted.items()})
        with self.watched():
            if not self.segments:
                records = self.records(spark, wanted).select(*columns)
                return [row.asDict() for row in records.mapInArrow(work, schema).collect()]
            tasks = [(partition, span.start, span.end) for partition, span in wanted.items()]
            segment_task = SegmentTask(self.segments, self.topic, columns, work)
            return spark.sparkContext.parallelize(tasks, len(tasks)).flatMap(segment_task).collect()

    def records(self, spark: SparkSession, wanted: Mapping[int, Span]) -> DataFrame:
        """Return what the brokers have of the ranges."""
        check_settings(spark, self.kafka)
        options = dict(read_options(self.bootstrap_servers, self.topic.name, self.login, self.kafka))
        del options["subscribe"]

        def positions(which: str) -> str:
            return json.dumps({self.topic.name: {str(at): getattr(span, which) for at, span in wanted.items()}})

        return (
            spark.read.format("kafka")
            .options(**options)
            .option("assign", json.dumps({self.topic.name: sorted(wanted)}))
            .option("startingOffsets", positions("start"))
            .option("endingOffsets", positions("end"))
            .load()
        )

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Raise LineageBroken if the topic is another when the work is over: that is why it failed, or spoils what it did."""
        try:
            yield
        finally:
            login = self.login.librdkafka
            now = describe_topic(self.bootstrap_servers, self.topic.name, timeout_s=TIMEOUT_S, login=login)
            if now.topic_id != self.topic.topic_id:
                raise LineageBroken(
                    f"topic {now.name} was created again while it was read: it was {self.topic.topic_id} and is {now.topic_id}; "
                    "what was read last may be the new one's"
                )

    def _spans(self) -> dict[int, Span]:
        """Return what the brokers hold."""
        login = self.login.librdkafka
        return dict(enumerate(describe_spans(self.bootstrap_servers, self.topic, timeout_s=TIMEOUT_S, login=login)))

    def _held(self) -> dict[int, Span]:
        spans = self._spans()
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
