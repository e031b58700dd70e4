"""The archive against a real broker: what it stores, what it shows, what it refuses."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from broker import Sent, Topics
from lake import orphan_files, read_lake
from lakeside import Archive

from millstream_spark.errors import LineageBroken, TopicUnavailable

MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC


def records(count: int, start: int = 0) -> list[Sent]:
    return [
        Sent(number % 3, f"k{number}".encode(), f"v{number}".encode(), MIDNIGHT_MS + number)
        for number in range(start, start + count)
    ]


def stored(archive: Archive) -> list[tuple[int, int, bytes]]:
    return [(row["partition"], row["offset"], row["value"]) for row in read_lake(archive.lake)]


def expected(sent: list[Sent]) -> list[tuple[int, int, bytes | None]]:
    """Give each record the offset that its place in its partition makes it have."""
    in_partition = {p: [record for record in sent if record.partition == p] for p in range(3)}
    return [(p, offset, record.value) for p in range(3) for offset, record in enumerate(in_partition[p])]


def test_a_record_arrives_with_everything_it_carries(archive: Archive, topics: Topics) -> None:
    sent = [
        Sent(0, b"\x00\xff", b"late in the day", MIDNIGHT_MS - 1, (("trace", b"\x01"), ("trace", b""), ("none", None))),
        Sent(1, None, b"", MIDNIGHT_MS),
        Sent(2, b"deleted", None, MIDNIGHT_MS + 1),
    ]
    topics.produce(archive.topic, sent)
    archive.run()
    rows = read_lake(archive.lake)
    for row, record in zip(rows, sent, strict=True):
        assert row["topic"] == archive.topic
        assert (row["partition"], row["offset"]) == (record.partition, 0)
        assert (row["key"], row["value"]) == (record.key, record.value)
        when = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=record.timestamp_ms)
        assert row["timestamp"] == when
        headers = [(header["key"], header["value"]) for header in row["headers"] or []]
        assert headers == list(record.headers)
    assert {path.name for path in archive.lake.glob("date=*")} == {"date=2025-11-17", "date=2025-11-18"}


def test_runs_go_on_where_the_last_one_ended_and_the_lag_shows(archive: Archive, topics: Topics) -> None:
    sent = records(300)
    topics.produce(archive.topic, sent)
    archive.run("--max-offsets-per-trigger=120")
    assert stored(archive) == expected(sent)
    assert topics.committed(archive.group_id, archive.topic, 3) == [100, 100, 100]

    more = records(30, start=300)
    topics.produce(archive.topic, more)
    archive.run()
    assert stored(archive) == expected(sent + more)
    assert topics.committed(archive.group_id, archive.topic, 3) == [110, 110, 110]
    archive.audit()


def test_lag_that_a_killed_run_left_behind_is_put_right_without_new_records(archive: Archive, topics: Topics) -> None:
    topics.produce(archive.topic, records(30))
    archive.run()
    topics.commit(archive.group_id, archive.topic, [1, 2, 3])
    archive.run()
    assert topics.committed(archive.group_id, archive.topic, 3) == [10, 10, 10]


def test_commits_that_fail_are_counted_and_do_not_stop_the_job(
    archive: Archive, topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    sent = records(30)
    topics.produce(archive.topic, sent)
    member = topics.join(archive.group_id, archive.topic)
    try:
        with caplog.at_level("INFO"):
            archive.run()
    finally:
        member.close()
    assert stored(archive) == expected(sent)
    assert "lag.commit_failed" in caplog.text
    assert re.search(r"archive.finished .*commits=0 failures=[1-9]", caplog.text)


def test_a_job_that_dies_before_its_commit_does_not_store_the_batch_again(archive: Archive, topics: Topics) -> None:
    """The moment that makes duplicates elsewhere: the sink has the batch, the checkpoint does not know it yet."""
    sent = records(60)
    topics.produce(archive.topic, sent)
    archive.run()
    last = max(archive.batches("commits"))
    assert (archive.lake / "_spark_metadata" / str(last)).exists()
    for name in (f"{last}", f".{last}.crc"):
        (archive.checkpoint / "commits" / name).unlink(missing_ok=True)

    more = records(30, start=60)
    topics.produce(archive.topic, more)
    archive.run()
    assert stored(archive) == expected(sent + more)


def test_killed_at_any_moment_nothing_is_lost_and_nothing_comes_twice(archive: Archive, topics: Topics) -> None:
    sent = records(30_000)
    topics.produce(archive.topic, sent)
    small = ("--trigger=100ms", "--max-offsets-per-trigger=600")
    # Once just after a commit, once with a batch planned and under way.
    archive.run_and_kill(lambda: len(archive.batches("commits")) >= 3, *small)
    done = archive.batches("commits")
    archive.run_and_kill(
        lambda: len(archive.batches("commits") - done) >= 2 and archive.batches("offsets") > archive.batches("commits"),
        *small,
    )
    partial = stored(archive)
    assert 0 < len(partial) < len(sent)

    archive.run()
    assert stored(archive) == expected(sent)
    offsets = [(partition, offset) for partition, offset, _ in stored(archive)]
    assert all(before < after for before, after in pairwise(offsets))
    assert topics.committed(archive.group_id, archive.topic, 3) == [10_000] * 3
    # Files of the killed batch may lie about: a reader that ignores the sink's log would count them.
    archive.audit()
    print(f"orphan files: {len(orphan_files(archive.lake))}")


def test_a_topic_that_was_created_again_is_refused(archive: Archive, topics: Topics) -> None:
    topics.produce(archive.topic, records(30))
    archive.run()
    topics.delete(archive.topic)
    topics.create(archive.topic, partitions=3)
    topics.produce(archive.topic, records(90))
    before = stored(archive)
    with pytest.raises(LineageBroken, match="was re-created"):
        archive.run()
    assert stored(archive) == before


def test_a_lake_whose_checkpoint_is_lost_is_refused(archive: Archive, topics: Topics) -> None:
    """Spark would take the new checkpoint's first batches for ones that the lake has, and drop them."""
    topics.produce(archive.topic, records(30))
    archive.run()
    with pytest.raises(LineageBroken, match="another checkpoint"):
        archive.run(f"--checkpoint={archive.checkpoint}-new")


def test_a_topic_that_is_not_there_is_named(archive: Archive) -> None:
    with pytest.raises(TopicUnavailable, match="topic nothing does not exist"):
        archive.run("--topic=nothing")
