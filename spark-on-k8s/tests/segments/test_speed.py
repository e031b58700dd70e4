"""By hand: rows for each CPU-second, the broker's included, from segments and through the connector, in one run."""

import json
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from broker import Sent, Topics
from conftest import Node
from processes import rows_per_cpu_second
from pyspark.sql import DataFrame, SparkSession
from segmented import MIDNIGHT_MS, closed_ends

from millstream_spark.archive.job import run_archive
from millstream_spark.backfill.job import run_backfill
from millstream_spark.login import Login
from millstream_spark.segments.source import SegmentsSource
from millstream_spark.source import read_options
from millstream_spark.spark_session import open_session

ROWS = int(os.environ.get("ROWS", "300000"))
PASSES = int(os.environ.get("PASSES", "3"))
HEADERS = (("trace", b"0123456789abcdef"), ("source", b"speed"))

pytestmark = pytest.mark.by_hand


@pytest.fixture(params=["none", "zstd"])
def filled(request: pytest.FixtureRequest, topics: Topics, topic: str) -> str:
    """Return a topic of 1 KiB records whose halves compress to nothing."""
    name = f"{topic}-{request.param}"
    topics.create(name, partitions=4, config={"segment.bytes": str(16 << 20)})
    noise = random.Random(0)
    values = [noise.randbytes(256).hex().encode() + b"x" * 512 for _ in range(100)]
    for start in range(0, ROWS, 50_000):
        records = [
            Sent(n % 4, f"k{n}".encode(), values[n % 100], MIDNIGHT_MS + n, HEADERS)
            for n in range(start, min(start + 50_000, ROWS))
        ]
        topics.produce(name, records, codec=request.param)
    return name


def rate(node: Node, name: str, what: str, rows: int, work: Callable[[], object]) -> float:
    assert node.pid is not None
    return rows_per_cpu_second(f"{name} {what}", rows, work, os.getpid(), node.pid)


def to_nothing(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def test_rows_per_cpu_second(node: Node, topics: Topics, filled: str, data_directory: Path, tmp_path: Path) -> None:
    ends = closed_ends(data_directory, filled)
    rows = sum(ends.values())

    def session() -> SparkSession:
        spark = open_session("speed")
        spark.dataSource.register(SegmentsSource)
        return spark

    def through_the_broker() -> None:
        reader = session().read.format("kafka").options(**read_options(node.bootstrap_servers, filled, Login()))
        to_nothing(reader.option("endingOffsets", json.dumps({filled: ends})).load())

    def from_segments() -> None:
        to_nothing(session().read.format("millstream-segments").options(path=str(data_directory), topic=filled).load())

    for passed in range(PASSES + 1):
        pair = [
            rate(node, filled, what, rows, work)
            for what, work in (("connector", through_the_broker), ("segments", from_segments))
        ]
        if passed:  # the first warms the JVM up
            print(f"{filled} segments over connector: {pair[1] / pair[0]:.2f}", flush=True)

    def arguments(output: str) -> list[str]:
        return [f"--bootstrap-servers={node.bootstrap_servers}", f"--topic={filled}", f"--output={tmp_path / output}"]

    for passed in range(2):
        archive = [*arguments(f"archive-{passed}"), f"--checkpoint={tmp_path / f'checkpoint-{passed}'}"]
        archived = rate(node, filled, "archive", ROWS, partial(run_archive, archive))
        segments = [*arguments(f"backfill-{passed}"), f"--segments={data_directory}"]
        stored = rate(node, filled, "backfill from segments", rows, partial(run_backfill, segments))
        print(f"{filled} backfill from segments over archive: {stored / archived:.2f}", flush=True)
