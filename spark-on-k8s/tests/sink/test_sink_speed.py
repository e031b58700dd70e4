"""By hand: rows for each CPU-second of Spark's processes, reading included, of Spark's own sink and of ours, in one run."""

import os
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from broker import Sent, Topics
from processes import rows_per_cpu_second
from pyspark.sql import DataFrame

from millstream_spark.login import Login
from millstream_spark.sink.sink import ExactlyOnceSink
from millstream_spark.source import read_options
from millstream_spark.spark_session import open_session

ROWS = int(os.environ.get("ROWS", "1000000"))
PASSES = int(os.environ.get("PASSES", "3"))
BATCHES = 4
SLOTS = 4
MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC

pytestmark = pytest.mark.by_hand


def test_rows_per_cpu_second(bootstrap_servers: str, topics: Topics, topic: str, tmp_path: Path) -> None:
    for start in range(0, ROWS, 50_000):
        rows = range(start, min(start + 50_000, ROWS))
        topics.produce(topic, [Sent(n % 3, f"k{n}".encode(), b"%0100d" % n, MIDNIGHT_MS) for n in rows], codec="lz4")

    def read() -> DataFrame:
        reader = (
            open_session("speed").readStream.format("kafka").options(**read_options(bootstrap_servers, topic, Login()))
        )
        reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", ROWS // BATCHES)
        return reader.load().select("key", "value")

    def with_sparks_own(name: str) -> None:
        writer = read().writeStream.format("kafka").option("topic", name)
        writer = writer.option("kafka.bootstrap.servers", bootstrap_servers)
        writer = writer.option("checkpointLocation", str(tmp_path / name))
        writer.trigger(availableNow=True).start().awaitTermination()

    def with_ours(name: str, slots: int) -> None:
        sink = ExactlyOnceSink(
            bootstrap_servers=bootstrap_servers, topic=name, name=name, checkpoint=str(tmp_path / name), slots=slots
        )
        sink.write_stream(read()).trigger(availableNow=True).start().awaitTermination()

    def rate(what: str, work: Callable[[str], None]) -> float:
        name = f"totals-{uuid.uuid4().hex[:8]}"
        topics.create(name, partitions=SLOTS)
        return rows_per_cpu_second(what, ROWS, partial(work, name), os.getpid())

    for passed in range(PASSES + 1):
        own = rate("Spark's own sink", with_sparks_own)
        one_slot = rate("one slot", partial(with_ours, slots=1))
        kept = rate(f"{SLOTS} slots, rows kept", partial(with_ours, slots=SLOTS))
        if passed:  # the first warms the JVM up
            print(f"over Spark's own: one slot {one_slot / own:.2f}, rows kept {kept / own:.2f}", flush=True)
