"""An archive as a Delta table: what its commits say, killed before the checkpoint knows, and checkpoints that are not the table's."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from broker import Sent, Topics
from lakeside import Archive

from millstream_spark.delta_table import Commit, is_stored
from millstream_spark.errors import LineageBroken

FORMAT = "--format=delta"
ENDS = [{"orders": {"0": end}} for end in (10, 20, 30)]
DONE = Commit("id", 1, ENDS[1])


def records(count: int, start: int = 0) -> list[Sent]:
    return [Sent(n % 3, b"k%d" % n, b"v%d" % n, 1_763_424_000_000 + n) for n in range(start, start + count)]


def actions(table: Path) -> list[list[dict[str, Any]]]:
    """Return what each commit did, read without Delta; a commit is a file that is there whole or not at all."""
    files = sorted((table / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def said(table: Path) -> list[dict[str, Any]]:
    """Return what each commit says of its batch."""
    infos = [action["commitInfo"] for commit in actions(table) for action in commit if "commitInfo" in action]
    return [json.loads(info["userMetadata"]) for info in infos]


def stored(table: Path) -> list[tuple[int, int, bytes]]:
    """Return every row; one that is stored twice is there twice."""
    added = [action["add"]["path"] for commit in actions(table) for action in commit if "add" in action]
    rows = [row for path in added for row in pyarrow.parquet.ParquetFile(table / path).read().to_pylist()]
    return sorted((row["partition"], row["offset"], row["value"]) for row in rows)


def expected(sent: list[Sent]) -> list[tuple[int, int, bytes | None]]:
    in_partition = {p: [record for record in sent if record.partition == p] for p in range(3)}
    return [(p, offset, record.value) for p in range(3) for offset, record in enumerate(in_partition[p])]


@pytest.mark.parametrize(
    ("last", "batch", "start", "there"),
    [
        (None, Commit("id", 0, ENDS[0]), None, False),
        (DONE, Commit("id", 1, ENDS[1]), ENDS[0], True),
        (DONE, Commit("id", 2, ENDS[2]), ENDS[1], False),
    ],
)
def test_a_batch_is_the_tables_last_or_its_next(last: Commit, batch: Commit, start: Any, there: bool) -> None:
    assert is_stored(last, batch, start) is there


@pytest.mark.parametrize(
    ("last", "batch", "start"),
    [
        (None, DONE, ENDS[0]),
        (DONE, Commit("other", 2, ENDS[2]), ENDS[1]),
        (DONE, Commit("id", 0, ENDS[0]), None),
        (DONE, Commit("id", 1, ENDS[2]), ENDS[0]),
        (DONE, Commit("id", 2, ENDS[2]), ENDS[0]),
        (DONE, Commit("id", 3, ENDS[2]), ENDS[1]),
    ],
)
def test_a_batch_that_is_neither_is_refused(last: Commit | None, batch: Commit, start: Any) -> None:
    with pytest.raises(LineageBroken):
        is_stored(last, batch, start)


def test_what_another_application_says_of_its_commit_is_not_ours() -> None:
    assert Commit.from_text(DONE.to_text("orders")) == DONE
    assert [Commit.from_text(text) for text in ("compacted", "[]", '{"batch": 1}', "7")] == [None] * 4


def test_a_batch_that_the_checkpoint_does_not_know_is_not_stored_again(archive: Archive, topics: Topics) -> None:
    """Between the table's commit and the checkpoint's; the commits say what they hold, and an older checkpoint is refused."""
    sent = records(60)
    topics.produce(archive.topic, sent)
    archive.run(FORMAT, "--max-offsets-per-trigger=30")
    ends = [batch["endOffsets"][archive.topic] for batch in said(archive.lake)]
    assert ends == [{"0": 10, "1": 10, "2": 10}, {"0": 20, "1": 20, "2": 20}]
    assert [batch["batch"] for batch in said(archive.lake)] == [0, 1]
    older = archive.checkpoint.with_name("older")
    shutil.copytree(archive.checkpoint, older)
    for name in ("1", ".1.crc"):
        (archive.checkpoint / "commits" / name).unlink(missing_ok=True)
    more = records(30, start=60)
    topics.produce(archive.topic, more)
    archive.run(FORMAT)
    assert stored(archive.lake) == expected(sent + more)
    assert [batch["batch"] for batch in said(archive.lake)] == [0, 1, 2]
    archive.audit(FORMAT)

    topics.produce(archive.topic, records(30, start=90))
    archive.run(FORMAT)
    with pytest.raises(LineageBroken, match="another checkpoint"):
        archive.run(FORMAT, f"--checkpoint={archive.checkpoint}-new")
    with pytest.raises(LineageBroken, match="older than the table"):
        archive.run(FORMAT, f"--checkpoint={older}")
    assert stored(archive.lake) == expected(records(120))


def test_killed_between_two_commits_nothing_is_lost_and_nothing_comes_twice(archive: Archive, topics: Topics) -> None:
    sent = records(6_000)
    topics.produce(archive.topic, sent)
    small = (FORMAT, "--trigger=100ms", "--max-offsets-per-trigger=300")

    def table_is_ahead() -> bool:
        """Or halfway through: a busy machine may never look just then."""
        done = len(archive.batches("commits"))
        return done >= 10 or 1 <= done < len(said(archive.lake))

    archive.run_and_kill(table_is_ahead, *small)
    assert stored(archive.lake)
    archive.run(FORMAT)
    assert stored(archive.lake) == expected(sent)
