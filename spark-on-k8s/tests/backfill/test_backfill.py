"""A backfill of a real topic: the same files through the broker as from its segments, and from where a task failed."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from broker import Topics
from segmented import MIDNIGHT_MS, closed_ends, in_segments, of_every_kind

from millstream_spark.audit.job import run_audit
from millstream_spark.backfill.job import run_backfill
from millstream_spark.backfill.plan import Plan, part_name
from millstream_spark.errors import BadOffsets, LineageBroken
from millstream_spark.main import main
from millstream_spark.topic import Span, describe_topic


def arguments(bootstrap_servers: str, topic: str, output: Path, *more: str) -> list[str]:
    return [f"--bootstrap-servers={bootstrap_servers}", f"--topic={topic}", f"--output={output}", *more]


def stored(output: Path) -> dict[str, pa.Table]:
    return {path.name: pyarrow.parquet.read_table(path) for path in output.glob("*.parquet")}


def test_segments_give_the_files_that_the_broker_gives(
    bootstrap_servers: str, topics: Topics, segmented: str, data_directory: Path, tmp_path: Path
) -> None:
    of_every_kind(topics, segmented)
    closed_ends(data_directory, segmented)
    by_files, by_broker = tmp_path / "segments", tmp_path / "broker"
    parts, segments = "--part-offsets=1000", f"--segments={data_directory}"
    assert run_backfill(arguments(bootstrap_servers, segmented, by_files, parts, segments)) == 0
    ranges = json.loads((by_files / "_backfill.json").read_text())["ranges"]
    until = json.dumps({partition: end for partition, (_, end) in ranges.items()})
    assert run_backfill(arguments(bootstrap_servers, segmented, by_broker, parts, f"--until={until}")) == 0
    assert len(stored(by_files)) > 6
    assert stored(by_files) == stored(by_broker)
    topic = [f"--bootstrap-servers={bootstrap_servers}", f"--topic={segmented}", f"--ending-offsets={until}"]
    assert run_audit([*topic, f"--lake={by_files}"]) == 0
    with pytest.raises(BadOffsets, match="partition 0 holds 0 to"):
        run_backfill(arguments(bootstrap_servers, segmented, tmp_path / "more", segments, '--until={"0": 999999}'))


@pytest.mark.parametrize("from_segments", [False, True])
def test_a_backfill_that_failed_goes_on_to_the_end_it_had(
    bootstrap_servers: str,
    topics: Topics,
    segmented: str,
    data_directory: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    from_segments: bool,
) -> None:
    """A driver's plan is there, the topic has more by now, and a file cannot be written at first."""
    in_segments(topics, segmented, 2, first_ms=MIDNIGHT_MS)
    closed_ends(data_directory, segmented)
    lake = tmp_path / "lake"
    options = [f"--segments={data_directory}"] if from_segments else []
    command = arguments(bootstrap_servers, segmented, lake, *options)
    topic = describe_topic(bootstrap_servers, segmented, timeout_s=30)
    plan = Plan(segmented, topic.topic_id, 100, {0: Span(5, 201), 1: Span(0, 250), 2: Span(0, 0)})
    in_the_way = lake / part_name(segmented, 1, 1)
    in_the_way.mkdir(parents=True)
    with pytest.raises(LineageBroken, match="they are not a backfill"):
        run_backfill(command)

    (lake / "_backfill.json").write_text(plan.to_text())
    assert main(["backfill", *command]) == 7
    (line,) = [record.getMessage() for record in caplog.records if "backfill.failed" in record.getMessage()]
    assert "IsADirectoryError" in line
    whole = lake / part_name(segmented, 1, 0)
    written = whole.stat().st_mtime_ns
    assert not (lake / "_SUCCESS").exists()

    in_the_way.rmdir()
    assert run_backfill(command) == 0
    assert whole.stat().st_mtime_ns == written
    offsets = {0: list(range(5, 201)), 1: list(range(250))}
    found = pa.concat_tables(stored(lake).values())
    assert {at: sorted(of(found, at)) for at in range(3)} == offsets | {2: []}
    assert (lake / "_SUCCESS").exists()
    assert not list(lake.glob(".*parquet*"))


def of(found: pa.Table, partition: int) -> list[int]:
    return [row["offset"] for row in found.to_pylist() if row["partition"] == partition]
