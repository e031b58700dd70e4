"""What jobs do in trouble, on a real broker: one line and the documented status, and nothing is lost."""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from broker import Sent, Topics
from lake import read_lake
from lakeside import Archive
from stopping import sigterm_when

from millstream_spark.archive.job import run_archive
from millstream_spark.errors import LineageBroken, RecordsGone, TopicUnavailable
from millstream_spark.login import Login
from millstream_spark.main import main
from millstream_spark.origin import Origin
from millstream_spark.spark_session import open_session
from millstream_spark.topic import Span, describe_topic

MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC
FOR_EVER = "--trigger=600000m"


def fill(topics: Topics, topic: str, first: int, count: int) -> None:
    topics.produce(topic, [Sent(n % 3, None, str(n).encode(), MIDNIGHT_MS) for n in range(first, first + count)])


def stored(archive: Archive) -> set[int]:
    return {int(row["value"]) for row in read_lake(archive.lake)}


def ended(caplog: pytest.LogCaptureFixture, *words: str) -> tuple[int, str]:
    """Run a job to its end; return its status and what it said of it."""
    caplog.clear()
    status = main(list(words))
    (line,) = [record.getMessage() for record in caplog.records if "reason=" in record.getMessage()]
    assert len(line.splitlines()) == 1
    return status, line


def test_records_that_were_deleted_before_they_were_read_are_told(
    archive: Archive, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    fill(topics, archive.topic, 0, 30)
    archive.run()
    fill(topics, archive.topic, 30, 30)
    topics.delete_before(archive.topic, [15, 10, 10])
    status, line = ended(caplog, "archive", *archive.arguments())
    assert status == 4
    assert line.endswith(f"offset [10, 20) for topic partition {archive.topic}-0")
    assert stored(archive) == set(range(30))

    source = describe_topic(archive.bootstrap_servers, archive.topic, timeout_s=30)
    origin = Origin(archive.bootstrap_servers, source, Login())
    spans = {0: Span(10, 20), 1: Span(10, 20)}
    with pytest.raises(RecordsGone, match=r"partition 0 from 10 to 15$"):
        origin.each_partition(open_session("gone"), spans, ("offset",), lambda rows: rows, "offset bigint")
    archive.run("--skip-deleted")
    assert set(range(60)) - stored(archive) == {30, 33, 36, 39, 42}


def test_a_place_that_cannot_be_written_is_told(
    archive: Archive, topics: Topics, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(topics, archive.topic, 0, 3)
    file = tmp_path / "file"
    file.write_text("")
    status, line = ended(caplog, "archive", *archive.arguments(f"--checkpoint={file}/checkpoint"))
    assert status == 8
    assert f"{file}" in line
    # A disk without room, where the checkpoint's first file goes.
    archive.checkpoint.mkdir()
    (archive.checkpoint / "lineage.json.unfinished").symlink_to("/dev/full")
    status, line = ended(caplog, "archive", *archive.arguments())
    assert status == 8
    assert "No space left on device" in line
    (archive.checkpoint / "lineage.json.unfinished").unlink()
    archive.run()
    assert stored(archive) == {0, 1, 2}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("fetch.max.byte=1", "no setting fetch.max.byte"),
        ("fetch.max.bytes=many", "fetch.max.bytes"),
        ("isolation.level=read_uncommitted", "isolation.level"),
        ("sasl.mechanism=PLAIN", "sasl.mechanism"),
    ],
)
def test_a_setting_that_the_consumer_does_not_take_is_named(
    archive: Archive, caplog: pytest.LogCaptureFixture, words: str, told: str
) -> None:
    status, line = ended(caplog, "archive", *archive.arguments(f"--kafka={words}"))
    assert status == 2
    assert told in line


def test_a_topic_that_is_made_again_under_a_running_job_is_noticed(archive: Archive, topics: Topics) -> None:
    fill(topics, archive.topic, 0, 30)

    def again() -> None:
        topics.delete(archive.topic)
        topics.create(archive.topic, partitions=3)

    with (
        meanwhile(again, lambda: bool(archive.batches("commits"))),
        # Between the two there is none, which may be what is seen first.
        pytest.raises((LineageBroken, TopicUnavailable)),
    ):
        run_archive(archive.arguments(FOR_EVER, "--topic-check-interval-s=1"))
    fill(topics, archive.topic, 30, 30)
    with pytest.raises(LineageBroken, match="was re-created"):
        archive.run()
    assert stored(archive) == set(range(30))

    source = describe_topic(archive.bootstrap_servers, archive.topic, timeout_s=30)
    with (
        pytest.raises(LineageBroken, match="created again while it was read"),
        Origin(archive.bootstrap_servers, source, Login()).watched(),
    ):
        again()


def test_sigterm_ends_a_stream_behind_its_batch(archive: Archive, topics: Topics) -> None:
    fill(topics, archive.topic, 0, 60)
    arguments = archive.arguments("--max-offsets-per-trigger=30", FOR_EVER)
    with sigterm_when(lambda: archive.batches("offsets") == {0}):
        assert run_archive(arguments) == 0
    assert archive.batches("commits") == archive.batches("offsets") == {0}
    assert len(stored(archive)) == 30
    assert sum(topics.committed(archive.group_id, archive.topic, 3)) == 30
    archive.run()
    assert stored(archive) == set(range(60))


@pytest.mark.by_hand  # processes of their own, and enough records to be stopped among them
def test_sigterm_ends_a_replay_at_once_and_the_next_goes_on(
    bootstrap_servers: str, topics: Topics, topic: str, tmp_path: Path
) -> None:
    copy = f"copy-{uuid.uuid4().hex[:8]}"
    topics.create(copy, partitions=3)
    fill(topics, topic, 0, 600_000)
    words = [f"--bootstrap-servers={bootstrap_servers}", f"--topic={topic}", f"--to-topic={copy}", f"--name={copy}"]
    group = f"spark-replay.{copy}"
    assert (
        terminated(["replay", *words], lambda: max(topics.committed(group, copy, 3)) > 0, tmp_path) == -signal.SIGTERM
    )
    assert 0 < sum(topics.committed(group, copy, 3)) < 600_000
    assert main(["replay", *words]) == 0
    assert main(["audit", words[0], words[1], f"--copy={copy}"]) == 0


@pytest.mark.by_hand
def test_sigterm_ends_a_backfill_at_once_and_the_next_goes_on(
    bootstrap_servers: str, topics: Topics, topic: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    fill(topics, topic, 0, 600_000)
    words = [f"--bootstrap-servers={bootstrap_servers}", f"--topic={topic}"]
    command = ["backfill", *words, f"--output={lake}", "--part-offsets=10000"]
    assert terminated(command, lambda: any(lake.glob("*.parquet")), tmp_path) == -signal.SIGTERM
    assert not (lake / "_SUCCESS").exists()
    assert main(command) == 0
    assert main(["audit", *words, f"--lake={lake}"]) == 0


@pytest.mark.by_hand
@pytest.mark.parametrize("at", ["start", "batch"])
def test_sigterm_ends_an_archive_in_its_own_process_with_0(
    archive: Archive, topics: Topics, tmp_path: Path, at: str
) -> None:
    """Also one that has not begun yet: it hears the signal from its first line on."""
    fill(topics, archive.topic, 0, 30)
    command = ["archive", *archive.arguments(FOR_EVER)]
    begun = archive.checkpoint / ("offsets/0" if at == "batch" else "lineage.json")
    assert terminated(command, begun.exists, tmp_path) == 0
    assert archive.batches("commits") == archive.batches("offsets")
    archive.run()
    assert stored(archive) == set(range(30))


def terminated(command: list[str], condition: Callable[[], bool], directory: Path) -> int:
    """Run a job as a process of its own, and end it by SIGTERM once a condition holds; return its status."""
    log = directory / "job.log"
    with log.open("wb") as output:
        job = subprocess.Popen(
            [sys.executable, "-m", "millstream_spark.main", *command],
            start_new_session=True,
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + 240
        while not condition():
            assert job.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < deadline, log.read_text()[-4000:]
            time.sleep(0.01)
        job.terminate()
        return job.wait(120)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)


@contextmanager
def meanwhile(act: Callable[[], None], condition: Callable[[], bool]) -> Iterator[None]:
    """Do something beside what runs, once a condition holds."""
    over = threading.Event()

    def wait() -> None:
        while not condition():
            if over.wait(0.05):
                return
        act()

    acting = threading.Thread(target=wait)
    acting.start()
    try:
        yield
    finally:
        over.set()
        acting.join()
