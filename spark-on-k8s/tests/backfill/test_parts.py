"""Which files a backfill still has to write, and which file a record is for."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from millstream_spark.backfill.plan import Plan, part_name
from millstream_spark.backfill.writing import SCHEMA, PartWriter
from millstream_spark.errors import LineageBroken
from millstream_spark.topic import Span, Topic

PLAN = Plan("orders", "one", 100, {0: Span(50, 350), 1: Span(0, 0), 2: Span(7, 8)})


def rows(offsets: list[int]) -> pa.RecordBatch:
    record = {"topic": "orders", "partition": 0, "timestampType": 0, "key": None, "value": b"v", "headers": None}
    return pa.RecordBatch.from_pylist(
        [{**record, "offset": offset, "timestamp": offset * 1000} for offset in offsets], schema=SCHEMA
    )


def written(directory: Path) -> dict[str, list[int]]:
    return {path.name: pyarrow.parquet.read_table(path).column("offset").to_pylist() for path in directory.iterdir()}


def test_a_plan_is_what_it_was_when_it_is_read_again() -> None:
    assert Plan.from_text(PLAN.to_text()) == PLAN
    PLAN.check_goes_on(Topic("orders", "one", 3))
    with pytest.raises(LineageBroken, match="created again"):
        PLAN.check_goes_on(Topic("orders", "two", 3))


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ([], {0: Span(50, 350), 2: Span(7, 8)}),
        ([(0, 0), (0, 1)], {0: Span(200, 350), 2: Span(7, 8)}),
        ([(0, 0), (0, 2), (2, 0)], {0: Span(100, 350)}),
        ([(0, 0), (0, 1), (0, 2), (0, 3), (2, 0)], {}),
    ],
)
def test_it_goes_on_at_the_first_file_that_is_not_there(parts: list[tuple[int, int]], left: dict[int, Span]) -> None:
    assert PLAN.left([part_name("orders", *part) for part in parts]) == left


def test_each_file_has_the_offsets_it_is_for(tmp_path: Path) -> None:
    batches = [rows([50, 60]), rows([99, 100, 101]), rows([]), rows([450, 451])]
    told = [row for each in PartWriter(str(tmp_path), "orders", 100).write(iter(batches)) for row in each.to_pylist()]
    expected = {0: [50, 60, 99], 1: [100, 101], 4: [450, 451]}
    assert written(tmp_path) == {part_name("orders", 0, part): offsets for part, offsets in expected.items()}
    assert [(each["name"], each["records"]) for each in told] == [
        (part_name("orders", 0, part), len(offsets)) for part, offsets in expected.items()
    ]


def test_a_task_that_fails_leaves_whole_files_alone(tmp_path: Path) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield rows([50, 100, 101])
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(PartWriter(str(tmp_path), "orders", 100).write(broken()))
    assert written(tmp_path) == {part_name("orders", 0, 0): [50]}
